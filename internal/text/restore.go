// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RestoreSnapshotInvalid returns the error for an invalid location of a snapshot.
// The message omits the value, which may be a secret. problem ends a sentence.
func RestoreSnapshotInvalid(problem string) Message {
	return newMessage("Invalid snapshot",
		"restore.snapshot %s.\n\nGive an https:// or http:// URL, or the absolute path of the file on every machine of an initial member.", problem)
}

// RestoreSHA256Invalid returns the error for an invalid SHA-256.
func RestoreSHA256Invalid(value string) Message {
	return newMessage("Invalid SHA-256",
		"restore.sha256 = %q is not 64 hexadecimal digits.\n\nGive what sha256sum prints for the file, or the sha256 of an etcd_snapshot.", value)
}

// RestoreBumpInvalid is the error if only one of revision_bump and
// mark_compacted is set.
var RestoreBumpInvalid = newMessage("Invalid revision_bump",
	"etcdutl takes revision_bump and mark_compacted together, or neither of them.\n\n"+
		"Set revision_bump to more than 0 and mark_compacted = true, or leave out both.")

// RestoreIgnored returns the warning for a restore that an existing cluster ignores.
func RestoreIgnored(cluster string) Message {
	return newMessage("The cluster exists, and nothing is restored",
		"Cluster %s was created without this restore, which has an effect only when a cluster is created.\n\n"+
			"If the cluster is lost and the snapshot replaces it, confirm that with its ID:\n\n  restore = {\n    replaces_cluster = %q\n  }", cluster, cluster)
}

// RestoreRefused returns the error for a planned restore in place of a cluster. cluster
// is the cluster in the state, or "", and confirmed the cluster to be replaced.
func RestoreRefused(code membership.Code, cluster, confirmed string) Message {
	const summary = "Cannot restore the cluster"
	switch code {
	case membership.OtherConfirmed:
		return newMessage(summary,
			"restore.replaces_cluster is %s, and the cluster in the state is %s. Nothing was changed.\n\n"+
				"If cluster %s is lost and the snapshot replaces it, confirm that with its ID:\n\n  replaces_cluster = %q\n\n"+
				"If it is not, remove replaces_cluster.", confirmed, cluster, cluster, cluster)
	case membership.SameIdentity:
		return newMessage(summary,
			"cluster_token is the token of cluster %s, which the restored cluster replaces. Members of the old cluster that still run could mix with the new one. Nothing was changed.\n\n"+
				"Set another cluster_token, or remove it: then the provider makes one.", confirmed)
	case membership.ConfirmationUnknown:
		return newMessage(summary,
			"restore, or its replaces_cluster, is known after apply only. The plan must show which cluster is replaced. Nothing was changed.\n\n"+
				"Write the ID of the cluster, or remove replaces_cluster.")
	case membership.SnapshotUnknown:
		fallthrough
	default:
		return newMessage(summary,
			"The sha256 or the revision of the snapshot that replaces cluster %s is not known before the apply. "+
				"In one apply the machines, and with them the data, are destroyed before a new snapshot is taken. Nothing was changed.\n\n"+
				"Take the snapshot first, by an apply of its own:\n\n  terraform apply -target='etcd_snapshot.NAME'\n\n"+
				"Then set sha256 and revision of restore to those of the snapshot, and plan again.", confirmed)
	}
}

// RestorePlanned returns the warning about what a restore discards. names are
// the initial members of the old cluster, revision is that of the snapshot.
func RestorePlanned(cluster string, names []string, revision int64) Message {
	return newMessage("A snapshot takes the place of a cluster",
		"The plan gives up cluster %s. It replaces or destroys every member of that cluster%s with its machine, and removes none of them from it. "+
			"Writes after revision %d, which the cluster may have acknowledged, are not in the snapshot.\n\n"+
			"Apply this plan without -target: all members of the cluster are replaced together.",
		cluster, own(named(names)), revision)
}

func named(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return sprintf(" (its initial members: %s)", strings.Join(names, ", "))
}

// AbandonedStays returns the error for a plan that keeps a member, or a
// configuration, of an abandoned cluster.
func AbandonedStays(name, cluster string) Message {
	return newMessage("Member of an abandoned cluster",
		"%s is a member of cluster %s, which a restored snapshot replaces, and this plan keeps it. All members of that cluster must be replaced or removed in one plan. Nothing was changed.\n\n"+
			"If the state has an etcd_member_config for it, give that the bootstrap of the etcd_initial_cluster that is restored. Otherwise remove the member from the configuration, with its machine.\n\n"+
			"If the plan was limited by -target, plan without it.", name, cluster)
}
