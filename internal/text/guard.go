// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The errors of refused plans. Terraform does not pass the addresses of resources to a
// provider: a command contains ADDRESS, and the text explains which address that is.

// destroyInstead ends every refusal of a plan. Terraform makes a normal plan before it
// plans a destroy, so the refusal blocks both, and the provider cannot know which of them
// is meant. So the guide has the command, not the text.
const destroyInstead = "\n\nTo destroy everything instead, see " + guides + "troubleshooting#errors-and-warnings-of-a-plan"

// afterWith says that ADDRESS is the resource of the diagnostic.
const afterWith = `ADDRESS is the address after "with"`

// endangered is the summary of what [membership.Judge] refuses.
const endangered = "This plan would endanger the cluster"

// rebuild says how the node of a member gets a new ID, and its machine new user data.
func rebuild(name string) string {
	return sprintf("set this in its etcd_cluster, and apply:\n\n  rebuild = { %q = \"1\" }", name)
}

// replacedMeanwhile returns the error for a replacement while another is not over.
func replacedMeanwhile(d membership.Decision, s membership.Snapshot) Message {
	return New(endangered, "It replaces %s, and another replacement is not over. %s Nothing was changed. %s\n\n"+
		"To finish that replacement, undo the other change and run:\n\n  terraform apply"+destroyInstead,
		Member(s, d.Facts.Subject), turns(d.Facts.Turns), own(turnsWayOut(d.Facts.Turns)))
}

// everyVoterRemoved returns the warning for a plan that removes every voter.
func everyVoterRemoved(s membership.Snapshot, f membership.Facts) Message {
	return New("This plan removes every voter",
		"It removes %s. The cluster and its data end with the last of them. Terraform destroys whatever depends on a resource as well: "+
			"if you named one machine or the etcd_cluster with -target, every etcd_member that depends on it, and with for_each that is all of them, is removed.",
		members(s, f.Others))
}

// destroyFirst replaces a member without a node.
const destroyFirst = "\n\n  terraform destroy -target='ADDRESS'\n\n" +
	"Then remove the data directory on its machine, unless Terraform destroyed the machine too, and apply again."

// keepPromoted is the way out for a learner that was promoted.
const keepPromoted = "If promote was changed to false, set it to true again: a promotion cannot be undone."

// notAdopted is like [Explain] for a member that cannot be added, if the plan
// already detects this.
func notAdopted(u *reconfigure.Unidentified) Message {
	t := Explain(reconfigure.ActionAdd, u.Name, u)
	t.Detail += destroyInstead
	return t
}

// SameAddress returns the error for two members of a plan with the same peer URL.
var SameAddress = of3[string, string, string]("Members %[1]s and %[2]s have one peer URL",
	"Both %s and %s have the peer URL %s. Peer URLs are unique in a cluster. Nothing was changed. Give one of them another peer URL, then run:\n\n  terraform apply"+
		destroyInstead)

// NoMachineID returns the warning for a member with a node and without a machine_id.
var NoMachineID = of1[string]("Member %[1]s has no machine_id",
	"Without machine_id Terraform does not know that the member depends on its machine: it may destroy the machine before the member is removed, "+
		"and a machine that is replaced alone is not noticed. Set machine_id to the ID of the machine that runs the member.")

// AnotherCluster returns the warning for endpoints that belong to another
// cluster than the members in the state.
func AnotherCluster(was string, s membership.Snapshot) Message {
	return New("The endpoints lead to another cluster",
		"The state knows members of cluster %s, and the endpoints answer for cluster %s. The state is kept as it was. "+
			"Point endpoints at the right cluster.",
		was, s.ClusterID)
}
