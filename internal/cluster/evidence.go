// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"net/netip"
	"net/url"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Evidence implements [Cluster].
func (c *Client) Evidence(ctx context.Context, of membership.ClusterID) membership.Evidence {
	probes := c.askAll(ctx, of, true)
	var e membership.Evidence
	if snap, err := c.observed(ctx, probes, of); err == nil {
		e.Snapshot = snap
		e.Snapshot.Members = slices.Clone(snap.Members)
		for i, m := range snap.Members { // as endpoints are compared
			e.Snapshot.Members[i].ClientURLs = askable(m.ClientURLs)
		}
	}
	for _, p := range probes {
		h := p.heard(of)
		if to := c.settings.AddressMap[p.endpoint]; to != "" {
			h.Detail += " (asked at " + to + ", by address_map)"
		} else if u, err := url.Parse(p.endpoint); err == nil {
			_, err = netip.ParseAddr(u.Hostname())
			h.Literal = err == nil
		}
		e.Heard = append(e.Heard, h)
	}
	return e
}

// heard says what the answers of an endpoint mean for a cluster.
func (p probe) heard(of membership.ClusterID) membership.Heard {
	h := membership.Heard{Endpoint: p.endpoint}
	if p.status != nil {
		h.Cluster, h.Member = membership.ClusterID(p.status.Header.ClusterId), membership.MemberID(p.status.Header.MemberId)
	} else if len(p.lists) > 0 {
		h.Cluster, h.Member = p.lists[0].cluster, p.lists[0].from
	}
	switch {
	case h.Cluster != of && h.Cluster != 0:
		h.Detail = "answers for cluster " + h.Cluster.String()
	case p.readOK:
		h.Detail = "serves requests"
	case p.status != nil && p.status.IsLearner:
		h.Detail = "answers as a learner"
	case p.status != nil && len(p.lists) > 0:
		h.Detail = "answers without a quorum"
	case h.Cluster != 0:
		h.Detail = "answers some requests"
	default:
		h.Silent, h.Detail = worst(p.listErr, p.err)
	}
	return h
}

// worst returns the error of an endpoint that says most against giving up its
// cluster. If a login does not complete, that explains the other error as well.
func worst(errs ...error) (silent bool, detail string) {
	silent = true
	for _, err := range errs {
		switch {
		case err == nil:
		case saidBy(err) == noQuorum:
			return false, brief(err)
		case silent && !isSilent(err) || detail == "":
			silent, detail = isSilent(err), brief(err)
		}
	}
	return silent, detail
}
