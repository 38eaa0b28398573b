// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

// checkVersions judges the first step, in order of name, that has a problem. Values
// that are not versions of etcd pass.
//
// The rest of the cluster decides how far back a member may go, because the
// member's own version is gone once the member is removed.
func checkVersions(s Snapshot, effective, desired map[string]string) (warning VersionStep) {
	back := keep(s.Members, func(m Member) bool { return s.answers(m.ID) && s.Answer(m.ID).Downgrade != "" })
	running := map[string]release{}
	for _, m := range s.Members {
		if v, ok := parseMinor(s.Answer(m.ID).Version); ok && s.answers(m.ID) {
			running[m.Name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		step := VersionStep{Name: name, From: effective[name], To: desired[name]}
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
