// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// NotGivenUp means that a cluster is not given up.
type NotGivenUp struct {
	Cluster  membership.ClusterID
	Stated   membership.ClusterID // see [Engine.Lost]
	Decision membership.Decision
	Evidence membership.Evidence
	// Cause is why the cluster could not decide about a removal, nil if no removal
	// was requested.
	Cause error
}

// Error implements error.
func (n *NotGivenUp) Error() string {
	return fmt.Sprintf("cluster %s is not given up: %s", n.Cluster, n.Decision.Code)
}

// Unwrap returns the cause.
func (n *NotGivenUp) Unwrap() error { return n.Cause }

// CheckLost returns a [*NotGivenUp] unless the evidence allows the cluster to be
// given up, on the statement that stated is lost. Without any address the evidence
// is empty. cause is that of the [NotGivenUp].
func CheckLost(e membership.Evidence, cluster, stated membership.ClusterID, cause error) error {
	if d := membership.DecideGiveUp(e, cluster, stated); d.Verdict != membership.Go {
		return &NotGivenUp{Cluster: cluster, Stated: stated, Decision: d, Evidence: e, Cause: cause}
	}
	return nil
}

// MayGiveUp asks every known address of the cluster, and returns a [*NotGivenUp]
// unless the cluster may be given up. Every plan of a restore that gives up a cluster
// asks it. The plan of a removal does not: only its apply asks, see [Engine.GiveUp].
func (e *Engine) MayGiveUp(ctx context.Context, cluster membership.ClusterID) error {
	evidence := e.Cluster.Evidence(ctx, cluster)
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckLost(evidence, cluster, e.Lost, nil)
}

// GiveUp is [Engine.MayGiveUp] during an apply. Machines of the same cluster are
// being destroyed then, and a server may answer while it ends: so an answer that is
// no member's must repeat.
func (e *Engine) GiveUp(ctx context.Context, cluster membership.ClusterID) error {
	return e.repeat(ctx, ActionForget, cluster.String(), func() error {
		err := e.MayGiveUp(ctx, cluster)
		if kept, ok := errors.AsType[*NotGivenUp](err); ok && kept.Decision.Code == membership.MayServe {
			return outcome{next: unsure, cause: err}
		}
		if err != nil {
			return stopping(err)
		}
		return nil
	})
}

// Undecidable reports whether an error means that the cluster cannot decide any
// more: it does not answer, has no quorum, or was replaced by another cluster.
// A refusal by the cluster does not count.
func Undecidable(err error) bool {
	refusal, refused := errors.AsType[*Refusal](err)
	return errors.As(err, new(*connection.Unreachable)) || errors.As(err, new(*OtherCluster)) || refused && refusal.Decision.Code == membership.QuorumLost
}

// forgetIfLost turns an undecidable removal into a forgotten member if the request
// allows that and the cluster may be given up. Otherwise the error says why not.
func (e *Engine) forgetIfLost(ctx context.Context, r LeaveRequest, out Removal, cause error) (Removal, error) {
	err := e.GiveUp(ctx, r.Cluster)
	kept, ok := errors.AsType[*NotGivenUp](err)
	switch {
	case err == nil && r.Forget:
		return Removal{Forgotten: cause, Snapshot: out.Snapshot}, nil
	case ok:
		kept.Cause = cause
		return out, kept
	default:
		return out, cause
	}
}
