// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

// ImportClusterID returns the error for an invalid import ID.
var ImportClusterID = of1[string]("Invalid import ID",
	"%q is not a cluster ID. It is a hexadecimal number of up to 16 digits, such as the cluster_id of an etcd_member.")

// ImportOtherCluster returns the error for the import of a cluster other than
// the cluster that answers.
func ImportOtherCluster(want string, s membership.Snapshot) Message {
	return New("Cannot import cluster "+want,
		"At the provider's endpoints cluster %s answers, with %s. Nothing was imported. If it is the one, import it by its ID. ADDRESS is the address to import to.\n\n  terraform import 'ADDRESS' %s",
		s.ClusterID, members(s, membership.IDs(s.Members)), s.ClusterID)
}

// ImportClusterSilent returns the error for importing a cluster that does not answer.
func ImportClusterSilent(want string, err error) Message {
	return New("Cannot import cluster "+want,
		"An import asks the cluster at the provider's endpoints, and no endpoint gave a member list. Nothing was imported.%s%s", own(wayOut(err)), own(answers(err)))
}
