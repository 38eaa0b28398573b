// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Evidence implements [Cluster].
func (c *Client) Evidence(ctx context.Context, of membership.ClusterID) membership.Evidence {
	probes := c.askAll(ctx, of, true)
	var e membership.Evidence
	if snap, err := c.observed(ctx, probes, of); err == nil {
		e.Snapshot = snap
	}
	for _, p := range probes {
		h := p.heard(of)
		if to := c.settings.AddressMap[p.endpoint]; to != "" {
			h.Detail += " (asked at " + to + ", by address_map)"
		}
		e.Heard = append(e.Heard, h)
	}
	return e
}

// heard says what the answers of an endpoint mean for a cluster.
func (p probe) heard(of membership.ClusterID) membership.Heard {
	h := membership.Heard{Endpoint: p.endpoint}
	id := of
	if p.status != nil {
		id = membership.ClusterID(p.status.Header.ClusterId)
	} else if len(p.lists) > 0 {
		id = p.lists[0].cluster
	}
	switch {
	case id != of:
		h.Reply, h.Detail = membership.ReplyNone, "answers for cluster "+id.String()
	case p.readOK:
		h.Detail = "serves requests"
	case p.status != nil && p.status.IsLearner:
		h.Reply, h.Detail = membership.ReplyLearner, "answers as a learner"
	case p.status != nil && len(p.lists) > 0 && lacksQuorum(p.readErr):
		h.Reply, h.Detail = membership.ReplyNoQuorum, "answers without a quorum"
	case p.status != nil && (p.listErr == nil || replyOf(p.listErr) == membership.ReplyNone), len(p.lists) > 0:
		h.Detail = "answers some requests"
	default:
		h.Reply, h.Detail = worst(p.listErr, p.err)
	}
	return h
}

// lacksQuorum reports whether the error of a linearizable read says that there is no
// quorum. A server checks the permission only after the read, so a read that is
// refused for another reason may have had one.
func lacksQuorum(err error) bool {
	if r := replyOf(err); r == membership.ReplyNone || r == membership.ReplyNoQuorum {
		return true
	}
	return slices.ContainsFunc([]error{
		rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
	}, func(lost error) bool { return errors.Is(err, lost) })
}

// worst returns the error of an endpoint that says most against giving up its
// cluster. If a login does not complete, that explains the other error as well.
func worst(errs ...error) (r membership.Reply, detail string) {
	r = membership.ReplyNone
	for _, err := range errs {
		switch of := replyOf(err); {
		case err == nil:
		case of == membership.ReplyNoQuorum:
			return of, brief(err)
		case of < r || detail == "":
			r, detail = of, brief(err)
		}
	}
	return r, detail
}

// replyOf says what an error of an endpoint means. An unknown one may come from a
// server that serves others.
func replyOf(err error) membership.Reply {
	switch connection.KindOf(err) {
	case connection.Refused, connection.NoRoute, connection.Timeout, connection.DNS, connection.NotAsked:
		return membership.ReplyNone
	case connection.NoLogin:
		return membership.ReplyNoQuorum
	case connection.Learner:
		return membership.ReplyLearner
	case "":
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return membership.ReplyNone // the time was over before anything was sent
		}
	}
	return membership.ReplyServer
}

// MayServe reports whether the errors of the endpoints show a server that may be
// part of a cluster with a quorum.
func MayServe(err error) bool {
	gone, ok := errors.AsType[*connection.Unreachable](err)
	if !ok {
		return false
	}
	var e membership.Evidence
	for _, a := range gone.Answers {
		e.Heard = append(e.Heard, membership.Heard{Endpoint: a.Endpoint, Reply: replyOf(a.Err)})
	}
	return membership.DecideGiveUp(e, 0, 0).Code == membership.MayServe
}
