// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// abandonedFor returns the records that a run left for the same member, name
// and peer URLs, whose configuration is not the one that is asked for. Not
// every CLI has written the state when it is killed, and a remote state is
// written now and then: the next run makes another configuration, which does
// not know what was announced for the first. A record that a state may speak of
// is never among them, nor one of a member that somebody else has on record.
func abandonedFor(r JoinRequest, all []cluster.Record) []cluster.Record {
	left := func(x cluster.Record) bool {
		return x.Awaited && x.State != cluster.Removed && x.Name == r.Name && membership.SameURLs(x.PeerURLs, r.PeerURLs)
	}
	var out []cluster.Record
	for _, x := range all {
		kept := slices.ContainsFunc(all, func(y cluster.Record) bool { return y.ID() == x.ID() && !left(y) })
		if left(x) && (x.ID() == 0 || !kept) {
			out = append(out, x)
		}
	}
	return out
}

func claims(records []cluster.Record) []membership.Claim {
	var out []membership.Claim
	for _, r := range records {
		out = append(out, membership.Claim{Recorded: true, ID: r.ID(), PeerURLs: r.PeerURLs})
	}
	return out
}
