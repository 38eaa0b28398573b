// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"

// The errors of refused plans. Terraform does not pass the addresses of resources to a
// provider: a command contains ADDRESS, and the text explains which address that is.

// destroyInstead ends every refusal of a plan. Terraform makes a normal plan before it
// plans a destroy, so the refusal blocks both, and the provider cannot know which of them
// is meant. So the guide has the command, not the text.
const destroyInstead = "\n\nTo destroy everything instead, see " + guides + "troubleshooting#errors-and-warnings-of-a-plan"

// afterWith says that ADDRESS is the resource of the diagnostic.
const afterWith = `ADDRESS is the address after "with"`

// rebuild says how the node of a member gets a new ID, and its machine new user data.
func rebuild(name string) string {
	return sprintf("set this in its etcd_cluster, and apply:\n\n  rebuild = { %q = \"1\" }", name)
}

// destroyFirst replaces a member without a node.
const destroyFirst = "\n\n  terraform destroy -target='ADDRESS'\n\n" +
	"Then remove the data directory on its machine, unless Terraform destroyed the machine too, and apply again."

// keepPromoted is the way out for a learner that was promoted.
const keepPromoted = "If promote was changed to false, set it to true again: a promotion cannot be undone."

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
var AnotherCluster = of2[membership.ClusterID, membership.ClusterID]("The endpoints lead to another cluster",
	"The state knows members of cluster %s, and the endpoints answer for cluster %s. The state is kept as it was. Point endpoints at the right cluster.")
