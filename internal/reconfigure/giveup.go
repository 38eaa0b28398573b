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

// Request returns the request to give up a cluster, for the members that
// [ProcessState.Know] was called for. gone are stated in addition to the statement.
func (b *ProcessState) Request(id membership.ClusterID, s Statement, gone []string) membership.GiveUpRequest {
	r := membership.GiveUpRequest{Cluster: id, Gone: slices.Clone(gone)}
	if s.Cluster == id {
		r.Gone = append(r.Gone, s.Gone...)
	}
	r.Others = slices.DeleteFunc(slices.Sorted(maps.Keys(b.known.All())), func(other membership.ClusterID) bool { return other == id })
	in := b.membersOf(id).All()
	for _, name := range slices.Sorted(maps.Keys(in)) {
		r.Known = append(r.Known, in[name])
	}
	return r
}

// Know records that the state has the cluster, and these members of it. A member is
// known until it was removed or forgotten, see [Engine.Remove]. A name alone adds nothing to what is known of it.
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
// asks it. The plan of a removal does not: only its apply asks, see [Engine.GiveUp].
// gone are the voters that the configuration states are gone for good.
func (e *Engine) MayGiveUp(ctx context.Context, id membership.ClusterID, gone []string) error {
	r := e.Process.Request(id, e.Lost, gone)
	for _, m := range r.Known {
		e.Cluster.AddFallbackEndpoints(m.ClientURLs)
	}
	if len(r.Gone) > 0 { // what is stated may be wrong, so an election gets its time
		ctx = cluster.Patiently(ctx)
	}
	evidence := e.Cluster.Evidence(ctx, id)
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckLost(evidence, e.Process.Request(id, e.Lost, gone), nil)
}

// GiveUp is [Engine.MayGiveUp] during an apply. Machines of the same cluster are being
// destroyed then. A server may answer while it ends: so an answer that shows no quorum
// must repeat. Once the cluster was given up, it stays so in this process, and silence
// refuses no more.
func (e *Engine) GiveUp(ctx context.Context, cluster membership.ClusterID, gone []string) error {
	return e.repeat(ctx, ActionForget, cluster.String(), func() error {
		err := e.MayGiveUp(ctx, cluster, gone)
		var code membership.Code
		if kept, refused := errors.AsType[*NotGivenUp](err); refused {
			code = kept.Decision.Code
		}
		switch {
		case err == nil:
			e.Process.lost.Set(cluster, true)
			return nil
		case code == membership.NotStated && e.Process.lost.Has(cluster):
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
// allows that and the cluster may be given up. Otherwise the error says why not.
func (e *Engine) forgetIfLost(ctx context.Context, r RemoveRequest, out Removed, cause error) (Removed, error) {
	err := e.GiveUp(ctx, r.Cluster, nil)
	kept, ok := errors.AsType[*NotGivenUp](err)
	switch {
	case err == nil && r.Permanent:
		return Removed{Forgotten: cause, Outcome: Outcome{Snapshot: out.Snapshot}}, nil
	case ok:
		kept.Cause = cause
		return out, kept
	}
	return out, cause
}
