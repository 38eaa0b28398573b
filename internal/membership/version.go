// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// release is a server version: major, minor, patch.
type release [3]int

// parseRelease parses a version such as "3.6.16" or "3.7.0-rc.1". It ignores what
// follows the third number. ok is false for anything else.
func parseRelease(s string) (r release, ok bool) {
	s, _, _ = strings.Cut(s, "-")
	s, _, _ = strings.Cut(s, "+")
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return release{}, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return release{}, false
		}
		r[i] = int(n)
	}
	return r, true
}

// wantsEveryVoter reports whether a server of that version accepts a new member
// only if every voter has been connected for its health interval of 5 s: up to
// 3.5.29, up to 3.6.10, and in all of 3.4. Later versions need as many connected
// voters as the quorum with one voter more (etcd-io/etcd#21641). A version that
// cannot be parsed counts as strict.
func wantsEveryVoter(version string) bool { return lacksFix(version, 30, 11) }

// lacksFix reports whether a version is without a fix of 3.5.in5 and 3.6.in6, or cannot be
// parsed.
func lacksFix(version string, in5, in6 int) bool {
	r, ok := parseRelease(version)
	if ok && r[0] == 3 && r[1] == 6 {
		return isBefore(version, 6, in6)
	}
	return !ok || isBefore(version, 5, in5)
}

// isBefore reports whether a version is older than 3.minor.patch. One that cannot be parsed
// is not.
func isBefore(version string, minor, patch int) bool {
	r, ok := parseRelease(version)
	return ok && slices.Compare(r[:], []int{3, minor, patch}) < 0
}

// lacksLearners reports whether servers of that version support no learners, as
// before 3.4. A version that cannot be parsed counts as supporting them: the server
// refuses what it does not support.
func lacksLearners(version string) bool { return isBefore(version, 4, 0) }

// cannotPromoteAlone reports whether a cluster of one cannot promote a learner
// on that version (up to 3.4.3, etcd-io/etcd#11633).
func cannotPromoteAlone(version string) bool { return isBefore(version, 4, 4) }

// promotionBugs are the patch releases of 3.5 on which a promotion may not last, as of a first
// one and until another: 3.5.1 to 3.5.19 do not persist it, and up to 3.5.25 a snapshot may
// still spread what an older release left behind.
var promotionBugs = []struct {
	issue       string
	from, until int
}{{"etcd-io/etcd#19557", 1, 20}, {"etcd-io/etcd#20793", 20, 26}}

// badReleases returns one warning for each of the [promotionBugs] that affects members that
// answer.
func (s Snapshot) badReleases(subject MemberID) (out []Warning) {
	for _, bug := range promotionBugs {
		has := func(version string) bool { return isBefore(version, 5, bug.until) && !isBefore(version, 5, bug.from) }
		if exposed, _ := s.tooOld(has); len(exposed) > 0 {
			out = append(out, Warning{KnownBadRelease, Facts{Subject: subject, Others: exposed, Detail: bug.issue}})
		}
	}
	return out
}

// newEnough refuses a change on members that answer and run a version for which rule
// returns true.
func (s Snapshot) newEnough(subject MemberID, rule func(version string) bool) Decision {
	if ids, v := s.tooOld(rule); len(ids) > 0 {
		return refuse(VersionTooOld, Facts{Subject: subject, Others: ids, Detail: v})
	}
	return Decision{Verdict: Go}
}

// tooOld returns the members that answer and run a version for which rule returns
// true, and the version of the first of them.
func (s Snapshot) tooOld(rule func(version string) bool) (ids []MemberID, version string) {
	ids = keep(IDs(s.Members), func(id MemberID) bool { return s.answers(id) && rule(s.Answer(id).Version) })
	if len(ids) > 0 {
		version = s.Answer(ids[0]).Version
	}
	return union(ids), version
}

// Defect is a known defect of released servers.
type Defect struct {
	// Source is the advisory, or the issue or pull request of etcd. Harm is for people: what
	// the defect may do.
	Source, Harm string
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
// does not use, and what [promotionBugs] has.
var defects = []Defect{
	{"etcd-io/etcd#13908", "the data of members may differ after a crash", false, map[int]int{5: 3}},
	{"etcd-io/etcd#14648", "with authentication, the data of members may differ after a snapshot", false, map[int]int{4: 22, 5: 6}},
	{"etcd-io/etcd#14733", "the data of members may differ after a crash in a defragmentation", false, map[int]int{5: 6}},
	{"etcd-io/etcd#17865", "the revision may go back after a crash in a compaction", false, map[int]int{4: 32, 5: 14}},
	{"etcd-io/etcd#20653", "a defragmentation while a snapshot arrives may corrupt the data", false, map[int]int{4: 38, 5: 23, 6: 5}},
	{"etcd-io/etcd#14899", "a transaction that only reads may stop the member", false, map[int]int{5: 7}},
	{"etcd-io/etcd#18842", "an error in a defragmentation stops the member", false, map[int]int{4: 35, 5: 17}},
	{"etcd-io/etcd#20051", "a promotion may stop the member", false, map[int]int{6: 1}},
	{"etcd-io/etcd#20387", "a member may not start again after a promotion", false, map[int]int{6: 4}},
	{"CVE-2023-32082", "a user can list the keys of leases", true, map[int]int{4: 26, 5: 9}},
	{"CVE-2026-33413", "a client without a user can list the members, raise alarms and use leases", true, map[int]int{4: 42, 5: 28, 6: 9}},
	{"CVE-2026-33343", "a user can read and write every key with nested transactions", true, map[int]int{4: 42, 5: 28, 6: 9}},
	{"CVE-2026-44283", "a user can read keys and attach leases with transactions", true, map[int]int{4: 44, 5: 30, 6: 11}},
	{"GHSA-xg4h-6gfc-h4m8", "a user who may read one key can watch all keys after it", true, map[int]int{4: 0, 5: 33, 6: 14, 7: 1}},
	{"etcd-io/etcd#22386", "while the alarm NOSPACE is raised, a user can delete every key and disable authentication", true, map[int]int{5: 0}},
}

// DefectsOf returns the defects of a version, either those of its data and
// its processes or the bypasses of authentication, and the first version that has none of
// them: a later patch release, or one of a later minor version if there is none. A version
// that cannot be parsed has none.
func DefectsOf(version string, bypasses bool) (found []Defect, fixed string) {
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
		found = append(found, d)
		patch, unfixed = max(patch, before), unfixed || never
	}
	if unfixed {
		_, fixed = DefectsOf(fmt.Sprintf("3.%d.0", r[1]+1), bypasses)
		return found, fixed
	}
	return found, fmt.Sprintf("3.%d.%d", r[1], patch)
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

// VersionStep is the change of one name from the version of its node to the wanted version,
// if both are versions of etcd.
type VersionStep struct {
	Name, From, To string
	// Code says what is wrong with it.
	Code UpgradeCode
	// Members are the members that cause the refusal or the warning.
	Members []MemberID
	// Between is the version that must come first, if the step skips one, or if
	// etcd wants a later patch release before it; or the version to which the
	// cluster is being downgraded.
	Between string
}

// UpgradeCode says what is wrong with a step.
type UpgradeCode uint8

const (
	// UpgradeFine: nothing is wrong, or the values are not versions of etcd.
	UpgradeFine UpgradeCode = iota
	// UpgradeSkips: the step skips a minor version, or goes to another major
	// version. A member may be at most one minor version ahead of the others in
	// its cluster; a member that is further ahead does not start.
	UpgradeSkips
	// UpgradeSkipsBack: the step goes back by more than one minor version.
	UpgradeSkipsBack
	// UpgradeBack: the step goes back by one minor version. A new member that is
	// older than the cluster's version does not start, and while the cluster is
	// being downgraded no new member starts. etcd can be downgraded only in
	// place, with the data of the existing member.
	UpgradeBack
	// UpgradeDuringDowngrade: the cluster is being downgraded, until every member
	// is; VersionStep.Members are the members that report it.
	UpgradeDuringDowngrade
	// UpgradeFromTooOld: members run a patch release from which etcd does not
	// support the step, see [floors].
	UpgradeFromTooOld
	// UpgradeFromOlder (warning): members run an earlier patch release than
	// etcd's upgrade guide asks for.
	UpgradeFromOlder
	// UpgradeLeavesV2 (warning): no member runs 3.6 yet, which has no v2 API and
	// does not start on the data of one.
	UpgradeLeavesV2
)

// Refused reports whether the step must not be made.
func (c UpgradeCode) Refused() bool {
	return c != UpgradeFine && c != UpgradeFromOlder && c != UpgradeLeavesV2
}

// floor are the first patch releases of one minor version from which etcd goes to the next:
// below least the step is refused, below asked it is warned about.
type floor struct{ least, asked int }

// floors are by the minor version of 3 that is left.
//
// 3.5: before 3.5.26, a lost promotion or a member that was removed may come back in 3.6,
// and then 3.6 does not start (etcd-io/etcd#19557, etcd-io/etcd#20793,
// etcd-io/etcd#20967). etcd asks for 3.5.32, the first release whose data 3.6 reads if it
// ever had the v2 API (https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/).
//
// 3.6: before 3.6.11, a member may not work beside one of 3.7
// (https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/).
var floors = map[int]floor{5: {26, 32}, 6: {11, 11}}

// checkVersions judges the steps of the nodes that are new, and of those that need a
// rebuild, and returns the first, in order of name, that has a problem. Values that are not
// versions of etcd pass.
//
// The rest of the cluster decides how far back a member may go, because the
// member's own version is gone once the member is removed.
func checkVersions(s Snapshot, steps []VersionStep) (warning VersionStep) {
	back := keep(s.Members, func(m Member) bool { return s.answers(m.ID) && s.Answer(m.ID).Downgrade != "" })
	running := map[string]release{}
	for _, m := range s.Members {
		if v, ok := parseMinor(s.Answer(m.ID).Version); ok && s.answers(m.ID) {
			running[m.Name] = v
		}
	}
	slices.SortFunc(steps, func(a, b VersionStep) int { return cmp.Compare(a.Name, b.Name) })
	for _, step := range steps {
		to, ok := parseMinor(step.To)
		switch {
		case step.To == step.From:
		case len(back) > 0: // while the cluster is being downgraded, no member is added
			step.Code, step.Members, step.Between = UpgradeDuringDowngrade, IDs(back), s.Answer(back[len(back)-1].ID).Downgrade
		case ok && len(running) > 0:
			step.judge(s, running, to)
		}
		if step.Code.Refused() {
			return step
		}
		if step.Code != UpgradeFine && warning.Code == UpgradeFine {
			warning = step
		}
	}
	return warning
}

// judge sets the code of the step.
func (t *VersionStep) judge(s Snapshot, running map[string]release, to release) {
	runs := func(is func(Member, release) bool) []Member {
		return keep(s.Members, func(m Member) bool {
			v, ok := running[m.Name]
			return ok && is(m, v)
		})
	}
	far := runs(func(_ Member, v release) bool { return v[0] != to[0] || to[1]-v[1] > 1 })
	others := runs(func(m Member, _ release) bool { return m.Name != t.Name })
	ahead := func(n int) bool {
		return len(others) > 0 && !slices.ContainsFunc(others, func(m Member) bool { return running[m.Name][1]-to[1] < n })
	}
	last := to[1] - 1
	left := runs(func(_ Member, v release) bool { return v[1] < to[1] })
	begun := len(left) < len(running) // the way out is to finish it
	before := func(patch int) []MemberID {
		return keep(IDs(left), func(id MemberID) bool { return isBefore(s.Answer(id).Version, last, patch) })
	}
	patch := func(n int) string { return fmt.Sprintf("3.%d.%d", last, n) }
	f := floors[last]
	tooOld, older := before(f.least), before(f.asked)
	switch {
	case len(far) > 0:
		v := running[far[len(far)-1].Name]
		t.Code, t.Members, t.Between = UpgradeSkips, IDs(far), fmt.Sprintf("%d.%d", v[0], v[1]+1)
	case ahead(2):
		t.Code = UpgradeSkipsBack
	case ahead(1):
		t.Code = UpgradeBack
	case begun:
	case len(tooOld) > 0:
		t.Code, t.Members, t.Between = UpgradeFromTooOld, tooOld, patch(f.least)
	case len(older) > 0:
		t.Code, t.Members, t.Between = UpgradeFromOlder, older, patch(f.asked)
	case last == 5:
		t.Code, t.Members = UpgradeLeavesV2, IDs(left)
	}
}

// parseMinor is [parseRelease] for a wanted version, which may also be written "3.6" or
// "v3.6.16". Only its first two numbers count.
func parseMinor(s string) (v release, ok bool) {
	s = strings.TrimPrefix(s, "v")
	if strings.Count(s, ".") == 1 {
		s += ".0"
	}
	return parseRelease(s)
}
