// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// startOver is the advice if a bootstrap cannot be used again. It follows the
// condition, such as "If the cluster is gone for good".
const startOver = ", destroy what is left of it and start again:\n\n  terraform destroy -refresh=false\n  terraform apply"

// untaint is the advice for a resource that is replaced because it is tainted.
// Until a moved block is applied, the CLI uses the former address of the
// resource, and a diagnostic the new address.
const untaint = "If the resource is tainted, keep it. " + Shown + ", or the one after \"from\" in a moved block that has not been applied yet:\n\n  terraform untaint 'ADDRESS'"

// renamed is the advice for a resource that is created because its address
// changed. The CLI refuses a moved block from an address that is still in the
// configuration, for example if two resources swap addresses.
const renamed = "If the resource had another address before (OLD_ADDRESS), add this block:\n\n" +
	"  moved {\n    from = OLD_ADDRESS\n    to   = ADDRESS\n  }\n\n" +
	"If OLD_ADDRESS is still in the configuration, Terraform refuses the block. Run this command instead. " +
	"If something else is at ADDRESS in the state, move that to an unused address first:\n\n" +
	"  terraform state mv 'OLD_ADDRESS' 'ADDRESS'"

// BootstrapKept returns the warning that a member that was never seen in a
// cluster does not follow its bootstrap.
func BootstrapKept(name string) Message {
	return newMessage("Configuration of "+name+" keeps its bootstrap",
		"The bootstrap that it is given now has another token, and it is not known whether %s has formed a cluster with the former one. "+
			"Its configuration, its machine and its member stay as they are.\n\nIf no cluster has formed, or if it is gone for good"+startOver,
		name)
}

// BootstrapWindowOver returns the warning for a new member whose cluster does
// not answer, if the bootstrap window of the first initial member ended at end.
func BootstrapWindowOver(first string, end time.Time) Message {
	return newMessage(sprintf("Bootstrap window of %s is over", first),
		"The cluster does not answer, and %s, the first initial member, was allowed to form it until %s"+
			" (bootstrap_window of the etcd_initial_cluster). A machine that boots now waits, because it cannot tell whether the cluster never formed or whether its own data was lost.\n\n"+
			"If the cluster has formed, make its members reachable and plan again:\n\n  terraform plan\n\n"+
			"If it has never formed, or if it is gone for good, destroy the bootstrap with everything that depends on it, and create it again. "+
			"This opens a new window. ADDRESS is the address of the etcd_initial_cluster:\n\n"+
			"  terraform destroy -refresh=false -target='ADDRESS'\n  terraform apply",
		first, end.UTC().Format(time.RFC3339))
}

// ClusterGone returns the error for a new member if its bootstrap is complete
// but no cluster answers. err is the error of the observation.
func ClusterGone(name string, err error) Message {
	if cluster.TurnedAway(err) || noLogin(err) != "" {
		return Explain(reconfigure.ActionConfigure, name, &reconfigure.NoCluster{Name: name, Cause: err})
	}
	return newMessage(summary(reconfigure.ActionConfigure, name),
		"Its bootstrap is complete: the cluster has formed before, and it does not answer now, so there is nothing for %s to join. A bootstrap forms one cluster. "+
			"Nothing was changed. Start the members of the cluster again, make sure that they can be reached from here, and apply again:\n\n  terraform apply\n\n"+
			"If the cluster is gone for good"+startOver+"%s",
		name, own(answers(err)))
}
