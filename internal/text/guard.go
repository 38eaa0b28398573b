// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"errors"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The errors of refused plans. Terraform does not pass the addresses of resources to a
// provider: a command contains ADDRESS, and the text explains which address that is.

// DestroyInstead ends every refusal of a plan. Terraform makes a normal plan
// before it plans a destroy, so the refusal blocks both.
const DestroyInstead = "\n\nTo destroy everything instead, run:\n\n  terraform destroy -refresh=false"

const replaceCommand = "\n\n  terraform apply -replace='ADDRESS'"

// replaceTogether is [replaceCommand] if one plan may refuse several members
// for the same reason: the other refusals would stop a single replacement.
const replaceTogether = replaceCommand + "\n\nIf several members are refused for this reason, replace their configurations in one command, with a -replace for each."

// Shown says that ADDRESS is the resource of the diagnostic.
const Shown = `ADDRESS is the address after "with"`

// ConfigOf says that ADDRESS is the configuration of a member.
func ConfigOf(name string) string { return "ADDRESS is the etcd_member_config of " + Clean(name) }

// endangered is the summary of what [membership.GuardPlan] refuses.
const endangered = "This plan would endanger the cluster"

// PlanRefused returns the error for a refusal of [membership.GuardPlan] or
// [membership.GuardUnobserved]. address says which resource ADDRESS is in a
// command that replaces a configuration, [Shown] or [ConfigOf].
func PlanRefused(d membership.Decision, s membership.Snapshot, address string) Message {
	return newMessage(endangered, "%s"+DestroyInstead, own(planRefused(d, s, address)))
}

func planRefused(d membership.Decision, s membership.Snapshot, address string) string {
	who := members(s, d.Facts.Others)
	oneByOne := "Only one member may be replaced per apply, so that the others keep the quorum. Nothing has been changed.\n\n" +
		"If an argument such as triggers_replace has changed for several members, pass its value through etcd_rollout, which replaces one member per apply. " +
		"To replace one member by hand, undo that change and run this command. " + Clean(address) + ":" + replaceCommand + "\n\nSee " + guides + "roll-an-image"
	switch d.Code {
	case membership.SecondReplacement:
		return sprintf("It replaces %s. A member counts as replaced if its etcd_member_config is, because its machine depends on it. %s", who, own(oneByOne))
	case membership.SecondUnobserved:
		return sprintf("It replaces the configurations of %s, and the cluster cannot be observed from here, so the provider cannot tell which of them are voters. %s",
			listed(d.Facts.Names), own(oneByOne))
	case membership.NeededUnobserved:
		return sprintf("It replaces the configuration of %s, and the cluster cannot be observed from here. %d members formed it: as far as is known, all of them are needed for the quorum. "+
			"Nothing has been changed.\n\nSet endpoints of the provider to client URLs that are known at plan and that answer, then plan again. "+
			"If the cluster has three voters by now, the plan goes on. Else add the new machine as a node with a new name and new addresses, apply, and remove this node in a second apply.",
			listed(d.Facts.Names), d.Facts.Voters)
	case membership.OthersNotActive, membership.NotProbed:
		return sprintf("It replaces %s while another member is not active. %s Nothing has been changed. Bring %s back, then plan again. "+
			"To replace a failed member first, run this command. %s:%s",
			Member(s, d.Facts.Subject), memberAnswers(s, d.Facts.Others), shorts(s, d.Facts.Others), ConfigOf(short(s, d.Facts.Others[0])), own(replaceCommand))
	case membership.TurnOfAnother:
		return sprintf("It replaces %s, and another replacement is not over. %s Nothing has been changed. %s\n\n"+
			"To finish that replacement, undo the other change and run:\n\n  terraform apply",
			Member(s, d.Facts.Subject), turns(d.Facts.Turns), own(turnsWayOut(d.Facts.Turns)))
	case membership.EveryVoterNeeded:
		why := "the only voter: the data would be gone before a successor has it"
		if d.Facts.Voters > 1 {
			why = "and the cluster has two voters, which are both needed for the quorum: if the machine is destroyed before the member is removed, no change is possible any more"
		}
		return sprintf("It replaces %s, %s. Nothing has been changed.\n\n"+
			"Add members until there are three voters, and apply. Then replace this one with this command. %s:%s\n\n"+
			"Or add the new machine as a node with a new name and new addresses, apply, and remove this node in a second apply.",
			who, own(why), address, own(replaceCommand))
	default:
		return sprintf("It removes %s and adds members at the same time: %d of today's %d voters would stay, and quorum is %d. Nothing has been changed.\n\n"+
			"If the nodes only have new keys in the configuration, keep the name of each member and add a moved block for each of its resources:\n\n"+
			"  moved {\n    from = OLD_ADDRESS\n    to   = NEW_ADDRESS\n  }\n\n"+
			"If they are new machines, keep the old nodes in the configuration, run the next command, and remove the old nodes in a second apply:\n\n  terraform apply",
			who, d.Facts.Alive, d.Facts.Voters, d.Facts.Quorum)
	}
}

// PlanWarning returns the text of a warning of [membership.GuardPlan].
func PlanWarning(w membership.Warning, s membership.Snapshot) Message {
	if w.Code == membership.LearnerSlotTaken {
		return newMessage("A learner may block the successor of "+short(s, w.Facts.Subject),
			"The plan removes %s first and then adds its successor as a learner. etcd takes one learner at a time, and %s %s one. "+
				"The successor is added only if all servers run etcd 3.6 or later with a higher --max-learners. Otherwise promote or remove the learner first. See "+guides+"learners",
			Member(s, w.Facts.Subject), members(s, w.Facts.Others), plural(len(w.Facts.Others), "is", "are"))
	}
	return newMessage("This plan removes every voter",
		"It removes %s. The cluster and its data end with the last of them. Terraform destroys whatever depends on a resource as well: "+
			"if you named one machine or one configuration with -target, every etcd_member that depends on it, and with for_each that is all of them, is removed.",
		members(s, w.Facts.Others))
}

// NodeRefused returns the error for a refusal of [membership.GuardNode]. was
// and now are the IDs of the machine; now is empty if it is not known yet.
func NodeRefused(code membership.Code, name, was, now string) Message {
	const together = "Configuration, machine and member are replaced together or not at all. Nothing has been changed."
	replace := sprintf("run this command. %s:%s", ConfigOf(name), own(replaceCommand))
	t := Message{Summary: "Member " + name + " would be replaced alone"}
	switch code {
	case membership.MemberAlone:
		t.Detail = "The plan removes the member and adds it again, while its configuration stays. A member that has been removed cannot start again: " +
			"etcd refuses its data directory, and without the data it must not return under the same identity. " + together + "\n\n" +
			keepPromoted + "\n\nTo replace all three, " + replace
	case membership.ProcessStays:
		t.Detail = "The plan removes the member and adds it again, and replaces no machine: its process would keep the data of the removed member, which etcd refuses. " +
			"Nothing has been changed.\n\n" + keepPromoted + "\n\n" +
			"To replace the member, destroy it first. " + Shown + ":" + destroyFirst
	case membership.MachineStays:
		t.Summary = "Member " + name + " would be replaced without its machine"
		t.Detail = sprintf("Configuration and member are replaced, and machine_id stays %s: the machine is only updated in place, so that its process keeps the identity that is removed. %s\n\n"+
			"Make the machine depend on the configuration, for example with this block in the machine's resource:\n\n"+
			"  lifecycle {\n    replace_triggered_by = [ADDRESS.id]\n  }\n\n"+
			"machine_id must be an attribute that changes when the machine is replaced. After that, %s", was, together, own(replace))
	case membership.ProcessAlone:
		t.Summary = "Member " + name + " would get another machine"
		t.Detail = sprintf("machine_id changes from %s to %s, which exists, and the member stays on its old machine. Nothing has been changed.\n\n"+
			"Set machine_id to the ID of the machine that runs the member. To move the member to the other machine, destroy it first. %s:%s",
			was, now, Shown, own(destroyFirst))
	case membership.MachineAlone:
		t.Summary = "Machine of member " + name + " would be replaced alone"
		t.Detail = sprintf("%s, and the configuration stays: the new machine would start with the settings of the old member, without its data. %s\n\n"+
			"%s\n\nTo replace all three, in a plan that replaces no other node, %s\n\n"+
			"If a changed argument (an image, a size) replaces the machine, undo that change, put its value into triggers_replace of the etcd_member_config, "+
			"and pass it through etcd_rollout, which replaces one member per apply.", machineChanges(was, now), together, own(untaintMachine(was)), own(replace))
	default:
		t.Summary = "Configuration of member " + name + " would be replaced alone"
		t.Detail = "The configuration is replaced, and the etcd_member keeps the old one: its config is a fixed value, or ignore_changes holds it. " + together + "\n\n" +
			"Let config of the etcd_member be its etcd_member_config, and remove config and machine_id from ignore_changes. Then " + replace
	}
	t.Detail += DestroyInstead
	return t
}

// destroyFirst replaces a member without a configuration.
const destroyFirst = "\n\n  terraform destroy -target='ADDRESS'\n\n" +
	"Then remove the data directory on its machine, unless Terraform destroyed the machine too, and apply again."

// machineChanges says how the machine of a member changes.
func machineChanges(was, now string) string {
	if was == "" {
		return "The member has run on a machine that the state does not tell of, the plan creates a new machine for it"
	}
	return sprintf("machine_id changes from %s to %s", was, cmp.Or(now, "a new machine"))
}

// keepPromoted is the way out for a learner that was promoted.
const keepPromoted = "If promote was changed to false, set it to true again: a promotion cannot be undone."

// untaintMachine returns advice to keep a machine, which nothing else in the
// plan blocks. The replacement of the node is refused while another is
// replaced, while another member has failed, and for one of two voters.
func untaintMachine(was string) string {
	if was == "" {
		return "If the machine is tainted, keep it. MACHINE is its address in the state:\n\n  terraform untaint 'MACHINE'"
	}
	return "If the machine is tainted, keep it. MACHINE is what the first command prints:\n\n" +
		sprintf("  terraform state list -id=%s\n  terraform untaint 'MACHINE'", was)
}

// MemberTainted returns the error for the removal of a tainted member that the
// plan could not recognise as tainted.
func MemberTainted(name string) Message {
	return newMessage("Member "+name+" would be replaced alone",
		"The resource is tainted, and its configuration stays: the member would be removed and added again, and a member that has been removed cannot start again. "+
			"Nothing was changed. Run this command. "+Shown+":\n\n  terraform untaint 'ADDRESS'\n\n"+
			"To replace the member, replace its etcd_member_config.")
}

// NotAdopted is like [Explain] for a member that cannot be added, if the plan
// already detects this.
func NotAdopted(u *reconfigure.Unidentified) Message {
	t := Explain(reconfigure.ActionAdd, u.Name, u)
	t.Detail += DestroyInstead
	return t
}

// SecondHolder returns the error for a second resource for the same member.
func SecondHolder(name string) Message {
	return newMessage("Another resource stands for member "+name,
		"The plan creates a resource for this member, and the state or the plan has another one for it. The member would be removed and added again, or two resources would manage it. "+
			"A member that has been removed cannot start again. Nothing has been changed.\n\n"+
			untaint+"\n\n"+
			renamed+"\n\n"+
			"If two blocks are for the same member, remove one of them."+DestroyInstead)
}

// StillHeld returns the error for the removal of a member if another resource
// for it stays in the state.
func StillHeld(name, id string) Message {
	return newMessage("Two resources stand for member "+name,
		"The plan removes or replaces the member with one of them, and the other one stays. A member that has been removed cannot start again. Nothing has been changed.\n\n"+
			"To see the addresses of both, run:\n\n  terraform state list -id=%s\n\n"+
			"Then remove one of them from the state, which does not change the member. ADDRESS is the address of the one that the configuration does not have:\n\n"+
			"  terraform state rm 'ADDRESS'\n\n"+
			"If the configuration has both, remove one of the blocks as well."+DestroyInstead,
		id)
}

// MemberInTheWay returns the error for a new configuration with the name or a
// peer URL of a member that is or may be alive.
func MemberInTheWay(name string, m membership.Member, s membership.Snapshot) Message {
	return newMessage("Cannot configure member "+name+": it runs",
		"The plan creates a configuration, and the cluster has the member %s with the same name or peer URL (%s). %s "+
			"Its machine would be replaced under a voter that lives. Nothing has been changed. %s"+DestroyInstead,
		Member(s, m.ID), strings.Join(m.PeerURLs, ", "), MemberAnswer(s, m.ID), own(fourWaysOut(name)))
}

// MemberMayRun is like [MemberInTheWay] for a cluster that cannot be observed
// because of err. If complete is true, the bootstrap shows that the member has
// run; otherwise the state has a configuration of its name.
func MemberMayRun(name string, complete bool, err error) Message {
	why := "The plan creates a configuration, the state has one for the same member, and the cluster cannot be observed from here."
	if complete {
		why = "Its bootstrap is complete: the cluster has formed before, and it cannot be observed from here."
	}
	if silent := errors.As(err, new(*connection.Unreachable)); silent && noLogin(err) != "" {
		why += noLogin(err)
	} else if complete && silent {
		why = "Its bootstrap is complete: the cluster has formed before, and it does not answer now, so there is nothing for " + Clean(name) + " to join."
	}
	t := Message{
		summary(reconfigure.ActionConfigure, name),
		why + " If the member lives, its machine would be replaced under it. Nothing has been changed. " +
			"Start the members of the cluster again, make sure that endpoints (or the environment variable ETCDCTL_ENDPOINTS) lead to them, and plan again.\n\n" +
			fourWaysOut(name) + "\n\nIf the cluster is gone for good" + startOver,
	}
	if err != nil {
		t.Detail += answers(err)
	}
	return t
}

func fourWaysOut(name string) string {
	return sprintf("There are four ways out. "+Shown+".\n\n"+
		"If the state was lost, import the configuration, then its machine and its etcd_member:\n\n  terraform import 'ADDRESS' %s\n\n"+
		renamed+"\n\nMove the machine and the etcd_member in the same way.\n\n"+
		untaint+"\n\n"+
		"If another node gives up the name or the URL, remove that node in a first apply and create this one in a second.", name)
}

// SameAddress returns the error for two members of a plan with the same peer URL.
func SameAddress(name, other, url string) Message {
	return newMessage("Members "+name+" and "+other+" have one peer URL",
		"Both %s and %s have the peer URL %s. Peer URLs are unique in a cluster. Nothing has been changed. Give one of them another peer URL, then run:\n\n  terraform apply"+
			DestroyInstead,
		name, other, url)
}

// NoMachineID returns the warning for a configured member without a machine_id.
func NoMachineID(name string) Message {
	return newMessage("Member "+name+" has no machine_id",
		"Without machine_id Terraform does not know that the member depends on its machine: it may destroy the machine before the member is removed, "+
			"and a machine that is replaced alone is not noticed. Set machine_id to the ID of the machine that runs the member.")
}

// MemberBack returns the error for a member that was to be replaced because it
// had failed, but responds again.
func MemberBack(name string) Message {
	return newMessage("Member "+name+" responds again",
		"The plan replaces the member because it had failed. It responds now, so it was not removed. Nothing was changed. Make a new plan:\n\n  terraform apply")
}

// AnotherCluster returns the warning for endpoints that belong to another
// cluster than the members in the state.
func AnotherCluster(was string, s membership.Snapshot) Message {
	return newMessage("The endpoints lead to another cluster",
		"The state knows members of cluster %s, and the endpoints answer for cluster %s. The state is kept as it was. "+
			"Point endpoints at the right cluster.",
		was, s.ClusterID)
}
