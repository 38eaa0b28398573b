// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"maps"
	"slices"
)

// DefectKind says what a [Defect] endangers.
type DefectKind uint8

const (
	// Corruption: the data of the members may differ, or writes may be lost.
	Corruption DefectKind = iota
	// Panic: a member may stop, or not start.
	Panic
	// Bypass: a client may do more than its user is permitted. It matters only with
	// authentication.
	Bypass
)

// Defect is a known defect of released servers.
type Defect struct {
	Kind DefectKind
	// Source is the advisory, or the issue or pull request of etcd.
	Source string
	// in are the releases that have it, one range for each minor version.
	in []patches
}

// patches are the releases 3.minor.from up to, and without, 3.minor.before. before is 0 if
// no release of that minor version has the fix.
type patches struct{ minor, from, before int }

// defects are from etcd's changelogs and security advisories, as of 3.5.35, 3.6.16 and
// 3.7.3. Left out are what only a flag or an API turns on that this provider's user data
// does not use, and what [promotionBug] has.
var defects = []Defect{
	{Corruption, "etcd-io/etcd#13908", []patches{{5, 0, 3}}},
	{Corruption, "etcd-io/etcd#14648", []patches{{4, 0, 22}, {5, 0, 6}}},
	{Corruption, "etcd-io/etcd#14733", []patches{{5, 0, 6}}},
	{Corruption, "etcd-io/etcd#17865", []patches{{4, 0, 32}, {5, 0, 14}}},
	{Corruption, "etcd-io/etcd#20653", []patches{{4, 0, 38}, {5, 0, 23}, {6, 0, 5}}},
	{Panic, "etcd-io/etcd#14899", []patches{{5, 0, 7}}},
	{Panic, "etcd-io/etcd#18842", []patches{{4, 0, 35}, {5, 0, 17}}},
	{Panic, "etcd-io/etcd#20051", []patches{{6, 0, 1}}},
	{Panic, "etcd-io/etcd#20387", []patches{{6, 0, 4}}},
	{Bypass, "CVE-2023-32082", []patches{{4, 0, 26}, {5, 0, 9}}},
	{Bypass, "CVE-2026-33413", []patches{{4, 0, 42}, {5, 0, 28}, {6, 0, 9}}},
	{Bypass, "CVE-2026-33343", []patches{{4, 0, 42}, {5, 0, 28}, {6, 0, 9}}},
	{Bypass, "CVE-2026-44283", []patches{{4, 0, 44}, {5, 0, 30}, {6, 0, 11}}},
	{Bypass, "GHSA-xg4h-6gfc-h4m8", []patches{{4, 0, 0}, {5, 0, 33}, {6, 0, 14}, {7, 0, 1}}},
	{Bypass, "etcd-io/etcd#22386", []patches{{5, 0, 0}}},
}

// DefectsOf returns the defects of a version, either those of its data and its processes or
// the bypasses of authentication, and the first version that has none of them: a later
// patch release, or one of a later minor version if there is none. A version that cannot
// be parsed has none.
func DefectsOf(version string, bypasses bool) (has []Defect, fixed string) {
	r, ok := parseRelease(version)
	if !ok || r[0] != 3 {
		return nil, ""
	}
	patch, unfixed := r[2], false
	for _, d := range defects {
		i := slices.IndexFunc(d.in, func(p patches) bool {
			return p.minor == r[1] && r[2] >= p.from && (p.before == 0 || r[2] < p.before)
		})
		if (d.Kind == Bypass) != bypasses || i < 0 {
			continue
		}
		has = append(has, d)
		patch, unfixed = max(patch, d.in[i].before), unfixed || d.in[i].before == 0
	}
	if unfixed {
		_, fixed = DefectsOf(fmt.Sprintf("3.%d.0", r[1]+1), bypasses)
		return has, fixed
	}
	return has, fmt.Sprintf("3.%d.%d", r[1], patch)
}

// knownDefects returns a warning for each version that has defects, of the members that
// answer.
func (s Snapshot) knownDefects(code Code) (out []Warning) {
	by := map[string][]MemberID{}
	for _, m := range s.Members {
		if v := s.Answer(m.ID).Version; s.answers(m.ID) {
			by[v] = append(by[v], m.ID)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(by)) {
		if has, _ := DefectsOf(v, code == KnownBypasses); len(has) > 0 {
			out = append(out, Warning{code, Facts{Others: by[v], Detail: v}})
		}
	}
	return out
}
