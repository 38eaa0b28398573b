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
	from := "to " + step.To
	if step.From != "" {
		from = "from " + step.From + " to " + step.To
	}
	c := finding{name: step.Name, s: s, f: membership.Facts{Others: step.Members}, held: code.Refused()}
	c.more = map[string]any{"from": from, "to": step.To, "between": step.Between, "minor": minorOf(step.To), "back": minorOf(step.Between), "line": minorOf(step.Between),
		"page": strings.ReplaceAll(minorOf(step.To), ".", "_"), "runs": ""}
	if len(step.Members) > 0 {
		c.more["runs"] = s.Answer(step.Members[0]).Version
	}
	return c.message(upgrades[code])
}

var upgrades = map[membership.UpgradeCode]words{
	membership.UpgradeSkips: {summary: "Cannot change {name} {from}",
		cause: "{Others} {runs|run} etcd {runs}. A member may be one minor version ahead of the others at most. One that is further ahead does not start in their cluster.",
		next:  "Set version to a release of {between} first, apply until every member runs it, and then go on."},
	membership.UpgradeSkipsBack: {summary: "Cannot change {name} {from}",
		cause: "Every other member is more than one minor version ahead of that, and etcd goes back by one at a time (as of 3.6).",
		next:  "To return to an older release, restore a snapshot that it made into a new cluster."},
	membership.UpgradeBack: {summary: "Cannot change {name} {from}",
		cause: "Every other member is one minor version ahead of that, and a new member that is older does not start in their cluster.",
		next: "etcd goes back in place only (3.6 and later): etcdctl downgrade enable {minor}, " +
			"then restart one member after the other with the older etcd and the data that it has."},
	membership.UpgradeDuringDowngrade: {summary: "Cannot rebuild {name} now",
		cause: "The cluster is being downgraded to {back}, as {others} {says|say}, and no new member starts in it until every member is downgraded.",
		next:  "Restart the members that are left with the older etcd, or cancel the downgrade (etcdctl downgrade cancel). Then apply again."},
	membership.UpgradeFromTooOld: {summary: "Cannot change {name} {from}",
		cause: "{Others} {runs|run} etcd {runs}, and etcd goes to {minor} from {between} or later only: an older member may not start, or may not work beside one of {minor} " +
			"(https://etcd.io/docs/v{minor}/upgrades/upgrade_{page}/).",
		next: "Set version to the latest release of {line} first, apply until every member runs it, and then go on."},
	membership.UpgradeFromOlder: {summary: "Upgrade from an older release",
		cause: "{Others} {runs|run} etcd {runs}. etcd asks for {between} or later before {minor} (https://etcd.io/docs/v{minor}/upgrades/upgrade_{page}/). " + leavesV2,
		next:  "Set version to the latest release of {line} first, or go on if no member ever ran with ETCD_ENABLE_V2."},
	membership.UpgradeLeavesV2: {summary: "The v2 API ends before {minor}", cause: leavesV2,
		next: "If a member ever ran with ETCD_ENABLE_V2 or --enable-v2, follow https://etcd.io/docs/v{minor}/upgrades/upgrade_{page}/ before you apply."},
}

const leavesV2 = "A member that has data of the v2 API does not start as {minor}: etcdutl check v2store tells whether a data directory has such data."

// minorOf returns the version without the patch number, as etcdctl expects it.
func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
