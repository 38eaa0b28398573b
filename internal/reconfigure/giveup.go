// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// NotGivenUp means that a cluster is not given up.
type NotGivenUp struct {
	Request  membership.GiveUpRequest
	Decision membership.Decision
	Evidence membership.Evidence
	// Cause is why the cluster could not decide about a removal, nil if no removal
	// was requested.
	Cause error
}

// Error implements error.
func (n *NotGivenUp) Error() string {
	return fmt.Sprintf("cluster %s is not given up: %s", n.Request.Cluster, n.Decision.Code)
}

// Unwrap returns the cause.
func (n *NotGivenUp) Unwrap() error { return n.Cause }

// CheckLost returns a [*NotGivenUp] unless the evidence allows the cluster to be
// given up. Without any address the evidence is empty. cause is that of the
// [NotGivenUp].
func CheckLost(e membership.Evidence, r membership.GiveUpRequest, cause error) error {
	if d := membership.DecideGiveUp(e, r); d.Verdict != membership.Go {
		return &NotGivenUp{Request: r, Decision: d, Evidence: e, Cause: cause}
	}
	return nil
}

// Statement is a cluster, and those of its voters that the operator states are gone for
// good, for this Terraform run. The zero value states nothing.
type Statement struct {
	Cluster membership.ClusterID
	Gone    []string
}

// Request returns the request with the members that [ProcessState.Know] was called for, and
// with those that are stated in addition to its own.
func (b *ProcessState) Request(r membership.GiveUpRequest, s Statement) membership.GiveUpRequest {
	if s.Cluster == r.Cluster {
		r.Gone = slices.Concat(r.Gone, s.Gone)
	}
	in := b.membersOf(r.Cluster).All()
	r.Known = nil
	for _, name := range slices.Sorted(maps.Keys(in)) {
		r.Known = append(r.Known, in[name])
	}
	return r
}

// Know records that the state has these members of the cluster. A member is known until it
// was removed or forgotten, see [Engine.Remove]. A name alone adds nothing to what is known
// of it.
func (b *ProcessState) Know(id membership.ClusterID, members ...membership.Member) {
	in := b.membersOf(id)
	for _, m := range members {
		m.ClientURLs = connection.Askable(m.ClientURLs)
		if key := m.Label(); m.ID != 0 || !in.Has(key) {
			in.Set(key, m)
		}
	}
}

func (b *ProcessState) membersOf(id membership.ClusterID) *syncmap.Map[string, membership.Member] {
	return b.known.GetOrMake(id, func() *syncmap.Map[string, membership.Member] { return &syncmap.Map[string, membership.Member]{} })
}

// MayGiveUp asks every known address of the cluster, and returns a [*NotGivenUp]
// unless the cluster may be given up. Every plan of a restore that gives up a cluster
// asks it. The plan of a removal asks only if this run states that its cluster is lost.
// The request need not have what [ProcessState.Request] adds.
func (e *Engine) MayGiveUp(ctx context.Context, r membership.GiveUpRequest) error {
	now := e.Process.Request(r, e.Lost)
	for _, m := range now.Known {
		e.Cluster.AddFallbackEndpoints(m.ClientURLs)
	}
	if len(now.Gone) > 0 { // what is stated may be wrong, so an election gets its time
		ctx = cluster.Patiently(ctx)
	}
	evidence := e.Cluster.Evidence(ctx, r.Cluster)
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckLost(evidence, e.Process.Request(r, e.Lost), nil)
}

// GiveUp is [Engine.MayGiveUp] during an apply. Machines of the same cluster are being
// destroyed then. A server may answer while it ends: so an answer that shows no quorum
// must repeat. Once the cluster was given up, it stays so in this process, and silence
// refuses no more.
func (e *Engine) GiveUp(ctx context.Context, r membership.GiveUpRequest) error {
	return e.repeat(ctx, ActionForget, r.Cluster.String(), func() error {
		err := e.MayGiveUp(ctx, r)
		var code membership.Code
		if kept, refused := errors.AsType[*NotGivenUp](err); refused {
			code = kept.Decision.Code
		}
		switch {
		case err == nil:
			e.Process.lost.Set(r.Cluster, true)
			return nil
		case code == membership.NotStated && e.Process.lost.Has(r.Cluster):
			return nil
		case code == membership.MayServe, code == membership.Contradicted:
			return outcome{next: retryBriefly, cause: err}
		}
		return stopping(err)
	})
}

// undecidable reports whether an error means that the cluster cannot decide any
// more: it does not answer, has no quorum, or was replaced by another cluster.
// A refusal by the cluster does not count.
func undecidable(err error) bool {
	return isUnreachable(err) || errors.As(err, new(*OtherCluster)) || codeOf(err) == membership.QuorumLost
}

// forgetIfLost turns an undecidable removal into a forgotten member if the request
// allows that and the cluster may be given up. Otherwise the error says why not. A member
// that is replaced is not forgotten, so nothing is asked for it.
func (e *Engine) forgetIfLost(ctx context.Context, r RemoveRequest, out Removed, cause error) (Removed, error) {
	if !r.Permanent {
		return out, cause
	}
	err := e.GiveUp(ctx, membership.GiveUpRequest{Cluster: r.Cluster})
	kept, ok := errors.AsType[*NotGivenUp](err)
	switch {
	case err == nil:
		return Removed{Forgotten: cause, Outcome: Outcome{Snapshot: out.Snapshot}}, nil
	case ok:
		kept.Cause = cause
		return out, kept
	}
	return out, cause
}
