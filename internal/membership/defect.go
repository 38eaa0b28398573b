// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"maps"
	"slices"
)

// defect is a known defect of released servers.
type defect struct {
	// source is the advisory, or the issue or pull request of etcd.
	source string
	// bypass is true if a client may do more than its user is permitted, which matters
	// only with authentication. Otherwise the data of members may differ, or a member may
	// stop or not start.
	bypass bool
	// before has, for each minor version of 3 that has the defect, the first patch release
	// without it, 0 if there is none.
	before map[int]int
}

// defects are from etcd's changelogs and security advisories, as of 3.5.35, 3.6.16 and
// 3.7.3. Left out are what only a flag or an API turns on that this provider's user data
// does not use, and what [promotionBug] has.
var defects = []defect{
	{"etcd-io/etcd#13908", false, map[int]int{5: 3}},
	{"etcd-io/etcd#14648", false, map[int]int{4: 22, 5: 6}},
	{"etcd-io/etcd#14733", false, map[int]int{5: 6}},
	{"etcd-io/etcd#17865", false, map[int]int{4: 32, 5: 14}},
	{"etcd-io/etcd#20653", false, map[int]int{4: 38, 5: 23, 6: 5}},
	{"etcd-io/etcd#14899", false, map[int]int{5: 7}},
	{"etcd-io/etcd#18842", false, map[int]int{4: 35, 5: 17}},
	{"etcd-io/etcd#20051", false, map[int]int{6: 1}},
	{"etcd-io/etcd#20387", false, map[int]int{6: 4}},
	{"CVE-2023-32082", true, map[int]int{4: 26, 5: 9}},
	{"CVE-2026-33413", true, map[int]int{4: 42, 5: 28, 6: 9}},
	{"CVE-2026-33343", true, map[int]int{4: 42, 5: 28, 6: 9}},
	{"CVE-2026-44283", true, map[int]int{4: 44, 5: 30, 6: 11}},
	{"GHSA-xg4h-6gfc-h4m8", true, map[int]int{4: 0, 5: 33, 6: 14, 7: 1}},
	{"etcd-io/etcd#22386", true, map[int]int{5: 0}},
}

// DefectsOf returns the sources of the defects of a version, either those of its data and
// its processes or the bypasses of authentication, and the first version that has none of
// them: a later patch release, or one of a later minor version if there is none. A version
// that cannot be parsed has none.
func DefectsOf(version string, bypasses bool) (sources []string, fixed string) {
	r, ok := parseRelease(version)
	if !ok || r[0] != 3 {
		return nil, ""
	}
	patch, unfixed := r[2], false
	for _, d := range defects {
		before, known := d.before[r[1]]
		never := known && before == 0
		if d.bypass != bypasses || !never && r[2] >= before {
			continue
		}
		sources = append(sources, d.source)
		patch, unfixed = max(patch, before), unfixed || never
	}
	if unfixed {
		_, fixed = DefectsOf(fmt.Sprintf("3.%d.0", r[1]+1), bypasses)
		return sources, fixed
	}
	return sources, fmt.Sprintf("3.%d.%d", r[1], patch)
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
