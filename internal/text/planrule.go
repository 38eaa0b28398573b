// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

const (
	// ofMember says what ADDRESS is. A rule that one member breaks may be printed with
	// another one, so it is not always the address after "with".
	ofMember    = "ADDRESS is the address of the resource of {name}"
	rebuildNode = "\n\nTo rebuild its node instead, with user data of today, set this in the etcd_cluster " +
		"(another value, if it has this one), and apply without -replace:" +
		"\n\n  rebuild = { \"{name}\" = \"1\" }" +
		"\n\nIf the rebuild is pending because a name was dropped, put that name back until {name} votes again."
	unobserved = "The cluster cannot be observed from here. "
	second     = "The plan replaces the members {names}. " +
		"Only one living voter may be replaced per apply, so that the others keep the quorum."
	needed = "The plan replaces {names}, and the quorum needs every voter: " +
		"its machine may be destroyed before another member has its data, or its vote."
	oneMachine = throughRevision +
		"\n\nTo replace the machine of {name} alone, undo the other changes, and use -replace with its address."
	// ownMachine is for a machine_id that is known only after the apply, so that two can be equal.
	ownMachine = "\n\nIf a machine_id is that of another member's machine, " +
		"set it to an attribute of its own machine. " +
		"If an apply has stored the wrong one, remove that member from the state, and import it again."
	keepTainted = "\n\nThe state has %[1]s as tainted. If it works, keep it. " +
		"ADDRESS is the address of the resource of %[1]s:\n\n  terraform untaint 'ADDRESS'"
	throughRevision = "\n\nIf an argument of the machines has changed (an image, a size), undo that change, " +
		"put its value into revision of the etcd_cluster, " +
		"and let the machines take it from node[each.key].revision: one node changes per apply. See " +
		guides + "roll-an-image"
	importMember = "\n\nIf the state was lost, or the resource got another key, add this block. " + ofMember +
		":\n\n  import {\n    to = ADDRESS\n    id = \"{name}\"\n  }"
	// applyFirst, forgetFirst and importFirst lead on from a plan that Terraform would carry out in the wrong order.
	applyFirst = "\n\nFirst undo the change that removes {names}, and run:\n\n  terraform apply\n\n" +
		"It updates each imported member in the state, and changes nothing in the cluster. " +
		"Then make the change again."
	forgetFirst = "\n\nMake sure that the endpoints lead to members that answer, and plan again. " +
		"If the cluster was destroyed, remove the member from the state, " +
		"which does not change the cluster, and apply. " + ofMember + ":\n\n  terraform state rm 'ADDRESS'"
	importFirst = "\n\nRemove the import block, import the member with the command, and plan again. " + ofMember +
		":\n\n  terraform import 'ADDRESS' {name}"
	// rollFirst and undoRoll lead on if the plan of etcd_cluster rebuilds a node as well.
	rollFirst = "\n\nThe etcd_cluster rebuilds {detail} in this plan, also if -target leaves out its member. " +
		"To rebuild that node first, run the command without -target and -replace, " +
		"until pending of the etcd_cluster is empty:\n\n  terraform apply"
	undoRoll = "\n\nTo remove {gone} first, set version, revision and rebuild of the etcd_cluster to what they were, " +
		"and run:\n\n  terraform apply\n\nThen make the change again: it waits until the remaining voters can bear it."
	growFirst = "\n\nAdd members until there are three voters, and apply. Then replace this one."
)

// PlanRule returns the text of a rule that a plan breaks. s is what was observed of the
// cluster, if anything.
func PlanRule(r membership.Ruling, s membership.Snapshot) Message {
	c := finding{name: r.Facts.Names[0], Decision: membership.Decision{Code: r.Code, Facts: r.Facts}, s: s}
	gone := slices.DeleteFunc(slices.Clone(r.Facts.Names), func(name string) bool {
		return slices.Contains(strings.Split(r.Facts.Detail, ", "), name)
	})
	c.more = map[string]any{"cluster": r.Entry.Cluster, "gone": listed(each(gone, clean))}
	t := c.text(planRules)
	switch _, ok := planRules[r.Code]; {
	case r.Code == membership.EveryVoterRemoved, r.Code == membership.AllNew:
		return t
	case r.Entry.Effect == membership.Created && (!ok || r.Code == membership.AlreadyMember && c.learns()): // an etcd_member is no way out for a learner
		u := reconfigure.Unidentified{Name: r.Entry.Name, PeerURLs: r.Entry.After.PeerURLs, InitialMembers: r.Entry.Initial, Snapshot: s,
			Identity: membership.Identity{Code: r.Code, Facts: r.Facts}}
		t = Explain(reconfigure.ActionAdd, u.Name, &u)
	default:
		t.Summary, t.Detail = "This plan would endanger the cluster", t.Detail+removal(s, r.Facts.Others)
	}
	if r.Entry.Effect == membership.Replaced {
		t.Detail += ownMachine
	}
	// Two resources for one member look like a tainted one.
	if r.Entry.Effect == membership.Replaced && r.Entry.Tainted && r.Code != membership.TwoResources {
		t.Detail += sprintf(keepTainted, r.Entry.Name)
	}
	t.Detail += DestroyInstead
	return t
}

var notActive = words{
	cause: "It replaces {names} while another member is not active, or cannot be asked. {answers}",
	next: "\n\nBring that member back, or make it reachable from here (see address_map of the provider), " +
		"or replace its machine first. Then plan again.",
}

var planRules = wordings{
	membership.SecondReplacement: {
		{when: finding.rebuilds, cause: second, next: rollFirst + oneMachine},
		{cause: second, next: oneMachine},
	},
	membership.SecondUnobserved: {{cause: unobserved + second, next: oneMachine}},
	membership.EveryVoterNeeded: {{cause: needed, next: growFirst}},
	membership.NeededUnobserved: {{cause: unobserved + needed, next: growFirst}},
	membership.TooFewStay: {{
		when:  finding.rebuilds,
		cause: "It removes {gone} and rebuilds {detail}: fewer of today's voters than their quorum may stay.",
		next:  undoRoll,
	}, {
		cause: "It removes {names} and adds members at the same time: " +
			"fewer of today's voters than their quorum may stay.",
		next: "\n\nAdd the new members in a first apply, and remove the old ones after it. " +
			"A name is permanent: a new key is a new node. If only the keys have changed, undo that.",
	}},
	membership.NotProbed:       {notActive},
	membership.OthersNotActive: {notActive},
	membership.LearnerSlotTaken: {{cause: "It replaces {names} while the cluster has a learner, and its version accepts no second one: the new member could not be added.",
		next: "\n\nPromote or remove the learner first, then plan again."}},
	membership.TwoResources: {{cause: "Two resources stand for one member: {names}.",
		next: "\n\nIf the resource got another key or type, add a moved block. If two blocks are for one member, remove one of them. To see what the state has, run:\n\n  terraform state list\n\n" +
			"To remove one of two from the state, which does not change the member, run:\n\n  terraform state rm 'ADDRESS'"}},
	membership.SharedURL: {{cause: "The members {names} have one peer URL. Peer URLs are unique in a cluster.",
		next: "\n\nGive one of them another peer URL."}},
	membership.SecondReaddress: {{cause: "It changes the peer URLs of {names} in place. The process of the first must restart with its new URLs before the next one changes.",
		next: "\n\nChange the URLs of {name}, apply, restart its process, and then change the next."}},
	membership.URLsPending: {{cause: "It changes the peer URLs of {names} while those of another member are pending. {answers}",
		next: "\n\nRestart the process of that member so that it listens at its new peer URLs (ETCD_LISTEN_PEER_URLS), or change them back. Then plan again."}},
	membership.SecondAdded: {{cause: "It adds the learners {names} before their machines exist, and a cluster takes one learner at a time.",
		next: "\n\nAdd {name}, apply, and then add the next."}},
	membership.ClusterCreated: {{cause: "It creates the etcd_cluster of {names} again: it is tainted, or was replaced or removed from the state. All nodes would be new.",
		next: "\n\nIf the etcd_cluster is tainted, keep it. ADDRESS is its address:\n\n  terraform untaint 'ADDRESS'\n\nIf the state has lost it, import it by the ID of the cluster:\n\n" +
			"  import {\n    to = ADDRESS\n    id = \"{cluster}\"\n  }"}},
	membership.CreatedUnobserved: {{cause: "It adds {names}, whose node exists, and the cluster cannot be observed from here: the member may be in the cluster, and may live.",
		next: "\n\nMake sure that the endpoints lead to members that answer, and plan again." + importMember}},
	membership.AlreadyMember: {{cause: "It adds {names} as a new node, and the cluster has a member with its name or peer URL.",
		next: importMember + "\n\nIf the resource has create_before_destroy, remove that line from its lifecycle block, and apply again.\n\nTo have another member, give it another name and other peer URLs."}},
	membership.MachineStays: {{cause: "{names} gets a new node, and its machine stays: the machine would keep the user data of the old node.",
		next: "\n\nAdd this to the resource of the machine. NODE is the etcd_cluster with the key of the node, such as etcd_cluster.this.node[each.key]:\n\n" +
			"  lifecycle {\n    replace_triggered_by = [NODE.id]\n  }"}},
	membership.ProcessStays: {{cause: "It removes {names} and adds it again, and its machine stays: its process keeps the data of the removed member, which etcd refuses.",
		next: "\n\n" + keepPromoted + "\n\nTo replace the member, destroy it first. " + ofMember + ":" + destroyFirst}},
	membership.OtherClusterReached: {{cause: "It adds {names} to the cluster that the provider's endpoints reach, and the state has members of another cluster that it has reached there.",
		next: "\n\nSet endpoints of the provider (or ETCDCTL_ENDPOINTS) to members of the right cluster. For two clusters, use a provider block for each."}},
	membership.PeersMoved: {{
		cause: "It gives {names} a new machine with the user data of its node, and too few of the peers in that are " +
			"voters today: they cannot confirm the new member, and its machine would wait permanently.",
		next: rebuildNode,
	}},
	membership.NotApplied: {{
		when: finding.unobserved,
		cause: "It replaces or removes {names}, no apply has stored {it|them} since the import, " +
			"and the cluster cannot be observed from here: Terraform does not know yet that " +
			"{the member depends on its machine|each of them depends on its machine}, " +
			"and may destroy the machine first.",
		next: forgetFirst,
	}, {
		cause: "It removes {names}, and no apply has stored {it|them} together with {its machine|their machines} " +
			"since the import: Terraform does not know yet that " +
			"{the member depends on its machine|each of them depends on its machine}, " +
			"and may destroy the machine first.",
		next: applyFirst,
	}},
	membership.ImportedByPlan: {{
		cause: "It imports {names}, and replaces {it|them} in the same plan: Terraform does not know yet that " +
			"{the member depends on its machine|each of them depends on its machine}, " +
			"and may destroy the machine first.",
		next: importFirst,
	}},
	membership.NotRead: {{
		cause: "It replaces {names}, and was made without a refresh: Terraform may not know that the member " +
			"depends on its machine, and may destroy the machine first.",
		next: "\n\nPlan again without -refresh=false.",
	}},
	membership.SharedMachine: {sharedMachine},
	membership.DroppedAlone: {{
		cause: "The etcd_cluster has dropped or rebuilt {names}, and the plan leaves out {its member|their members}: " +
			"Terraform may destroy {its machine|their machines} before {it is|they are} removed, " +
			"and fewer of today's voters than their quorum may stay.",
		next: "\n\nRun the command without -target, and without -parallelism, " +
			"with which the plan shows the member too late. " +
			"It removes each member before its machine:\n\n  terraform apply\n\n" +
			"If the state has no such member, put the name back until the cluster answers, and import the member.",
	}},
	membership.AllNew: {{
		summary: "Every machine of the cluster is new",
		cause: "Cluster {cluster} does not answer, the state has none of its members, " +
			"and the plan creates every machine, that of {names} too. " +
			"Terraform makes this plan before a destroy, too: then nothing is wrong. " +
			"If the cluster runs, do not apply: its machines would be replaced with their data. " +
			"Make sure that its members can be reached, and import each of them as an etcd_member.",
	}},
	membership.WindowStillOpen: {{cause: "It gives {names} a new machine, which would still be inside the bootstrap window: without an answer from its peers it would form a second cluster.",
		next: "\n\nWait until the bootstrap window is over." + rebuildNode}},
	membership.ImportedAlone: {{cause: "It gives {names} a new machine, and its node was imported: the machine does not have the user data of the node, and would not join.",
		next: rebuildNode}},
	membership.TurnOfAnother: {{cause: "It replaces {subject}, and another replacement is not over. {turns}",
		next: "{finish}\n\nTo finish that replacement, undo the other change and run:\n\n  terraform apply"}},
	membership.EveryVoterRemoved: {{summary: "This plan removes every voter",
		cause: "It removes {others}. The cluster and its data end with the last of them. Terraform destroys whatever depends on a resource as well: " +
			"if you named one machine or the etcd_cluster with -target, every etcd_member that depends on it, and with for_each that is all of them, is removed."}},
}

var sharedMachine = words{
	cause: "The members {names} of one cluster have the machine_id {detail}. " +
		"A member follows its machine only if it has the ID of that machine.",
	next: "\n\nSet machine_id of each to an attribute of its own machine, such as example_vm.node[each.key].id, " +
		"and apply again.\n\nIf the state has a wrong machine_id of a member, remove that member from the state, " +
		"which does not change the cluster, and import it again. ADDRESS is its address, {name} its name:\n\n" +
		"  terraform state rm 'ADDRESS'\n\n  import {\n    to = ADDRESS\n    id = \"{name}\"\n  }",
}

// rebuilds reports whether the plan of an etcd_cluster rebuilds a node of the finding.
func (c finding) rebuilds() bool { return c.Facts.Detail != "" }

// unobserved reports whether the cluster was not observed.
func (c finding) unobserved() bool { return c.s.ClusterID == 0 }

// The errors of refused plans. Terraform does not pass the addresses of resources to a
// provider: a command contains ADDRESS, and the text explains which address that is.

// Advice that destroys. No text of a plan or a refresh advises to destroy a cluster, and none of
// an apply while an answer shows a server: a cluster that does not answer may serve, and the
// state may have its members, also if its etcd_cluster has not seen it respond. Such a text names
// what to check, and leads to the guide. Only [forgetting] has a command that ends a cluster: a
// removal was requested, every known address was asked, and no answer shows a server that may
// have a quorum.

// DestroyInstead ends every refusal of a plan that can block a destroy. Terraform makes a normal
// plan before it plans a destroy, and the provider cannot know which of them is meant.
const DestroyInstead = "\n\nIf a destroy made this plan, see " + guides +
	"troubleshooting#errors-and-warnings-of-a-plan"

// StartAgain is the guide for a cluster that has never formed. It begins with what to check.
const StartAgain = guides + "choose-a-bootstrap#start-again"

// afterWith says that ADDRESS is the resource of the diagnostic.
const afterWith = `ADDRESS is the address after "with"`

// rebuild says how the node of a member gets a new ID, and its machine new user data.
func rebuild(name string) string {
	return sprintf("set this in its etcd_cluster (another value, if it has this one), and apply:\n\n"+
		"  rebuild = { %q = \"1\" }", name)
}

// destroyFirst replaces a member without a node.
const destroyFirst = "\n\n  terraform destroy -target='ADDRESS'\n\n" +
	"Then remove the data directory on its machine, unless Terraform destroyed the machine too, and apply again."

// keepPromoted is the way out for a learner that was promoted.
const keepPromoted = "If promote was changed to false, set it to true again: a promotion cannot be undone."

// Upgrade returns the error or the warning for a step from one version of etcd
// to another.
func Upgrade(step membership.VersionStep, s membership.Snapshot) Message {
	from := "to " + step.To
	if step.From != "" {
		from = "from " + step.From + " to " + step.To
	}
	c := finding{name: step.Name, Decision: membership.Decision{Facts: membership.Facts{Others: step.Members}}, s: s}
	c.more = map[string]any{"from": from, "between": step.Between, "minor": minorOf(step.To), "line": minorOf(step.Between),
		"page": strings.ReplaceAll(minorOf(step.To), ".", "_"), "runs": ""}
	if len(step.Members) > 0 {
		c.more["runs"] = s.Answer(step.Members[0]).Version
	}
	return c.message(upgrades[step.Code])
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
		cause: "The cluster is being downgraded to {line}, as {others} {says|say}, and no new member starts in it until every member is downgraded.",
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
