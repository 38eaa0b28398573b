// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// startOver is the way out where a bootstrap cannot be used again. condition is
// when, as the beginning of a sentence.
func startOver(condition string) string {
	return condition + ", destroy what is left of it and start again:\n\n  terraform destroy -refresh=false\n  terraform apply"
}

// untaint is the way out for a resource that is replaced because it is tainted.
const untaint = "If the resource is tainted, keep the object that it has. " + Shown + ":\n\n  terraform untaint 'ADDRESS'"

// BootstrapKept warns that a member that was never seen in a cluster does not
// follow its bootstrap.
func BootstrapKept(name string) Text {
	return Text{
		"Configuration of " + name + " keeps its bootstrap",
		"The bootstrap that it is given now has another token, and it is not known whether " + Clean(name) + " has formed a cluster with the former one. " +
			"Its configuration, its machine and its member stay as they are.\n\n" + startOver("If no cluster has formed, or if it is gone for good"),
	}
}

// ClusterGone is for a new member whose bootstrap is complete while no cluster
// answers. err is that of the observation.
func ClusterGone(name string, err error) Text {
	if cluster.TurnedAway(err) {
		return Explain(reconfigure.ActionConfigure, name, &reconfigure.NoCluster{Name: name, Cause: err})
	}
	return Text{
		summary(reconfigure.ActionConfigure, name),
		"Its bootstrap is complete: the cluster has formed before, and it does not answer now, so there is nothing for " + Clean(name) + " to join. A bootstrap forms one cluster. " +
			"Nothing was changed. Start the members of the cluster again, make sure that they can be reached from here, and apply again:\n\n  terraform apply\n\n" +
			startOver("If the cluster is gone for good") + answers(err),
	}
}
