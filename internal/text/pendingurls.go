// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func isPending(s membership.Snapshot, id membership.MemberID) bool {
	_, is := s.Pending[id]
	return is && s.Alive(id)
}

// pendingURLs says which change of peer URLs is not proven, and how far it has come.
func pendingURLs(s membership.Snapshot, id membership.MemberID) string {
	p := s.Pending[id]
	state := sprintf("the metrics of the members do not show whether they find it there. If they do, state it for one run with ETCD_PEER_URLS_IN_USE=%s", p.Statement())
	switch p.State {
	case membership.URLsNotRestarted:
		state = "its process has not been restarted since"
	case membership.URLsNotConnected:
		state = "since its restart, fewer than a majority of the other voters report a connection to it"
	}
	return sprintf("%s got the peer URLs %s at %s from %s, and %s.",
		capital(Member(s, id)), p.PeerURLs, p.Since.UTC().Format(time.RFC3339), p.By, own(state))
}

// remedyFor says what to do about members on which no change may rely.
func remedyFor(s membership.Snapshot, ids []membership.MemberID) string {
	var out []string
	gone := slices.DeleteFunc(slices.Clone(ids), func(id membership.MemberID) bool { return isPending(s, id) })
	if len(gone) > 0 {
		out = append(out, sprintf("Bring %s back or replace %s", shorts(s, gone), plural(len(gone), "it", "them")))
	}
	for _, id := range ids {
		p, back := s.Pending[id], ""
		if !isPending(s, id) {
			continue
		}
		if len(p.Before) > 0 {
			back = sprintf(", or change its peer URLs back to %s", p.Before)
		}
		out = append(out, sprintf("Restart the process of %s so that it listens at %s (ETCD_LISTEN_PEER_URLS)%s", short(s, id), p.PeerURLs, own(back)))
	}
	return strings.Join(out, ". ")
}
