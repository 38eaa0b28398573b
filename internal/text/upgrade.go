// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Upgrade returns the error or the warning for a step from one version of etcd
// to another.
func Upgrade(step membership.VersionStep, code membership.UpgradeCode, s membership.Snapshot) Message {
	from := " to " + Clean(step.To)
	if step.From != "" {
		from = sprintf(" from %s to %s", step.From, step.To)
	}
	switch code {
	case membership.UpgradeSkips:
		return New("Cannot change "+step.Name+from,
			"%s %s. A member may be one minor version ahead of the others at most. One that is further ahead does not start in their cluster. "+
				"Nothing has been changed. Set version to a release of %s first, apply until every member runs it, and then go on.",
			runs(s, step.Members), "etcd "+s.Answer(step.Members[0]).Version, step.Between)
	case membership.UpgradeSkipsBack:
		return New("Cannot change "+step.Name+from,
			"Every other member is more than one minor version ahead of that, and etcd goes back by one at a time (as of 3.6). Nothing has been changed. "+
				"To return to an older release, restore a snapshot that it made into a new cluster.")
	case membership.UpgradeBack:
		return New("Cannot change "+step.Name+from,
			"Every other member is one minor version ahead of that, and a new member that is older does not start in their cluster. Nothing has been changed. "+
				"etcd goes back in place only (3.6 and later): etcdctl downgrade enable %s, then restart one member after the other with the older etcd and the data that it has.",
			minorOf(step.To))
	case membership.UpgradeDuringDowngrade:
		return New("Cannot rebuild "+step.Name+" now",
			"The cluster is being downgraded to %s, as %s %s, and no new member starts in it until every member is downgraded. Nothing has been changed. "+
				"Restart the members that are left with the older etcd, or cancel the downgrade (etcdctl downgrade cancel). Then apply again.",
			minorOf(step.Between), members(s, step.Members), plural(len(step.Members), "says", "say"))
	default:
		return New("Upgrade from a release with a bug",
			"%s a release that may have lost a promotion, and then %s refuses to start: \"too many learner members\" "+
				"(etcd-io/etcd#19557, etcd-io/etcd#20793). Set version to 3.5.26 or a later 3.5 first.",
			runs(s, step.Members), step.To)
	}
}

func runs(s membership.Snapshot, ids []membership.MemberID) string {
	return capital(members(s, ids)) + " " + plural(len(ids), "runs", "run")
}

// minorOf returns the version without the patch number, as etcdctl expects it.
func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
