// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// InitialClusterFormed returns the error for replacing a cluster that has formed.
func InitialClusterFormed(id string) Message {
	return newMessage("Cannot replace the initial cluster",
		"Its cluster %s has formed. Another bootstrap would make initial members of a second cluster out of its members. Nothing was changed.\n\n"+untaint+"\n\n"+
			"Otherwise plan without -replace for this resource, and with a refresh. A change of members or cluster_token has no effect then:\n\n  terraform plan\n\n"+
			"If the cluster is gone for good"+startOver,
		id)
}

// InitialClusterMayHaveFormed returns the error for the replacement of a
// bootstrap whose cluster may have formed. why is a whole sentence. members are
// the initial members of the bootstrap.
func InitialClusterMayHaveFormed(id, why string, members map[string][]string) Message {
	return newMessage("Cannot replace the initial cluster",
		"It is not known whether its cluster %s has formed. %s A cluster that is stopped or unreachable looks the same as one that never formed, and replacing it would destroy its data. "+
			"Nothing was changed.\n\n"+untaint+"\n\n"+
			"If the cluster runs, make it reachable at the provider's endpoints and plan again. Once it has answered, a change of members or cluster_token has no effect:\n\n  terraform plan\n\n"+
			"To keep this bootstrap until then, plan without -replace, and with these members:\n\n%s\n\n"+
			"If the cluster never formed, or is gone for good"+startOver,
		id, why, own(membersArgument(members)))
}

// WhyNotFormed says what answered instead of the cluster: another cluster, or nothing.
func WhyNotFormed(s membership.Snapshot, err error) string {
	if err == nil {
		return sprintf("Cluster %s answers at the provider's endpoints, which may have been started in its place.", s.ClusterID)
	}
	if len(endpointsOf(err)) == 0 {
		return "The cluster cannot be asked: " + answer(err) + "."
	}
	return "The cluster does not answer at the provider's endpoints (" + answered(err) + ")."
}

// membersArgument formats the argument members.
func membersArgument(members map[string][]string) string {
	var b strings.Builder
	b.WriteString("  members = {\n")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b.WriteString(sprintf("    %q = [%s]\n", name, quoted(members[name])))
	}
	return b.String() + "  }"
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

// ClusterExists returns the error for a new bootstrap if a cluster already answers.
func ClusterExists(s membership.Snapshot) Message {
	return newMessage("A cluster exists already",
		"This plan creates a bootstrap, and cluster %s answers at the provider's endpoints, with %s. Its members must not become initial members of a second cluster. "+
			"Nothing was changed. Terraform does not tell a provider why it creates a resource, so choose what applies.\n\n"+
			untaint+"\n\n"+
			"If the resource is not in the state, because it is new or the state was lost, import the cluster:\n\n  terraform import 'ADDRESS' %s\n\n"+
			"If the resource only has another address than before, tell Terraform. OLD_ADDRESS is its former address:\n\n"+
			"  moved {\n    from = OLD_ADDRESS\n    to   = ADDRESS\n  }\n\n"+
			"If the bootstrap is for another cluster, give it a provider block of its own, with the endpoints of that cluster, and set provider = etcd.other in the resource:\n\n"+
			"  provider \"etcd\" {\n    alias     = \"other\"\n    endpoints = [\"https://10.0.1.10:2379\"]\n  }"+
			DestroyInstead,
		s.ClusterID, members(s, ids(s.Members)), s.ClusterID)
}

// ClusterRefusesUs returns the error for a new bootstrap if a server answers
// but refuses this provider: it may be the cluster of a bootstrap that is
// tainted or whose state was lost.
func ClusterRefusesUs(err error) Message {
	return newMessage("Cannot tell whether a cluster exists",
		"This plan creates a bootstrap, and something answers at the provider's endpoints that refuses this provider. It may be the cluster, whose members must not become "+
			"initial members of a second one. Nothing was changed.%s\n\n"+untaint+
			DestroyInstead+"%s",
		own(remedy(err)), own(answers(err)))
}

// ImportClusterID returns the error for an invalid import ID.
func ImportClusterID(id string) Message {
	return newMessage("Invalid import ID",
		"%q is not a cluster ID. It is a hexadecimal number of up to 16 digits, such as the cluster_id of an etcd_member.", id)
}

// ImportOtherCluster returns the error for the import of a cluster other than
// the cluster that answers.
func ImportOtherCluster(want string, s membership.Snapshot) Message {
	return newMessage("Cannot import cluster "+want,
		"At the provider's endpoints cluster %s answers, with %s. Nothing was imported. If it is the one, import it by its ID. ADDRESS is the address to import to.\n\n  terraform import 'ADDRESS' %s",
		s.ClusterID, members(s, ids(s.Members)), s.ClusterID)
}

// ImportClusterSilent returns the error for importing a cluster that does not answer.
func ImportClusterSilent(want string, err error) Message {
	return newMessage("Cannot import cluster "+want,
		"An import asks the cluster at the provider's endpoints, and no endpoint gave a member list. Nothing was imported.%s%s", own(remedy(err)), own(answers(err)))
}
