// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// silenceKey is the key under which Read stores its observations of a silent
// member, for the next Read and for the plan.
const silenceKey = "silence"

// silence describes a member that does not respond.
type silence struct {
	// Since is the time at which it was first found silent in both views.
	Since time.Time `json:"since"`
	// Evidence is a text for the operator.
	Evidence string `json:"evidence"`
}

// watch observes a member that may be lost and returns its status. If
// replace_unreachable_after is set, it observes until the member responds or has
// been silent for that long, counted from the first refresh that found it silent.
func (m model) watch(ctx context.Context, c *backend.Cluster, was silence) (string, silence) {
	after, err := time.ParseDuration(m.ReplaceUnreachableAfter.ValueString())
	patient := err == nil
	left := func() time.Duration { return after - c.Clock.Now().Sub(was.Since) }
	loss := c.WatchLoss(ctx, m.Name.ValueString(), func() (membership.Loss, time.Duration) {
		loss, seen := m.judge(ctx, c)
		switch {
		case loss == membership.Unsettled && !patient:
			return membership.Unreachable, 0
		case loss != membership.Vanished:
			return loss, 0
		case was.Since.IsZero():
			was.Since = c.Clock.Now().UTC().Truncate(time.Second)
		}
		was.Evidence = seen
		return loss, left()
	})
	switch {
	case loss == membership.Present:
		return statusMember, silence{}
	case loss != membership.Vanished:
		// One view is not enough to propose a replacement. The time continues
		// to count, because only a response of the member itself ends it.
		return statusUnreachable, silence{Since: was.Since}
	case patient && left() <= 0 && m.confirmedLost(ctx, c):
		return statusFailed, was
	default:
		return statusUnreachable, was
	}
}

// confirmedLost reports whether the member is also lost by a list that a
// majority confirms, because its replacement follows.
func (m model) confirmedLost(ctx context.Context, c *backend.Cluster) bool {
	snap, err := c.Confirmed(ctx, 0, reconfigure.ActionRead, m.Name.ValueString())
	if err != nil {
		return false
	}
	loss, _ := m.judgeBy(ctx, c, snap)
	return loss == membership.Vanished
}

// judge makes one observation from Terraform and from the leader.
func (m model) judge(ctx context.Context, c *backend.Cluster) (membership.Loss, string) {
	snap, err := c.View(ctx, 0)
	if err != nil {
		return membership.Unreachable, ""
	}
	return m.judgeBy(ctx, c, snap)
}

// judgeBy is [model.judge] with a given observation.
func (m model) judgeBy(ctx context.Context, c *backend.Cluster, snap membership.Snapshot) (membership.Loss, string) {
	it, ok := m.find(snap.Members)
	if !ok {
		return membership.Present, ""
	}
	seen := cluster.SeenByLeader(ctx, c.Cluster, snap, []membership.MemberID{it.ID})
	return membership.JudgeLoss(snap, it.ID, seen), text.FailureEvidence(snap, it.ID)
}

// find returns the configuration's member.
func (m model) find(members []membership.Member) (membership.Member, bool) {
	peers := attribute.Texts(m.PeerURLs)
	for _, it := range members {
		if len(peers) > 0 && membership.SameURLs(it.PeerURLs, peers) || len(peers) == 0 && it.Name == m.Name.ValueString() {
			return it, true
		}
	}
	return membership.Member{}, false
}

// recorded returns the status of a member that is not listed where its configuration
// says, from the records of its replacement and of its owner. Without such a record it
// returns otherwise, the status from the list alone. A member with an open turn was
// removed for a replacement, and its configuration is the one that was to follow.
func (m model) recorded(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, otherwise string) string {
	if !snap.Linearizable {
		return otherwise // a list that may be out of date proves nothing
	}
	turns, err := c.OpenTurns(ctx, snap)
	if err == nil && otherwise == statusRemoved && slices.ContainsFunc(turns, func(t membership.Turn) bool { return t.Name == m.Name.ValueString() }) {
		return statusRetired
	}
	r, ok, err := c.Cluster.Records(snap.ClusterID).Get(ctx, m.ID.ValueString())
	if err != nil || !ok || r.State != cluster.Announced || !r.Started {
		return otherwise
	}
	if _, there := snap.Member(r.ID()); there {
		return statusMember // with other URLs, or under another name
	}
	return statusRetired
}

// planLost proposes the replacement of a member that was removed outside Terraform or by an
// interrupted replacement. It also proposes that of the first failed member that is planned.
// For other failed or silent members it warns with what the operator can do.
func (r *Resource) planLost(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state model
	var after types.String
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("replace_unreachable_after"), &after)...)
	if resp.Diagnostics.HasError() {
		return
	}
	was := private.Kept[silence](ctx, req.Private, silenceKey, &resp.Diagnostics)
	name := state.Name.ValueString()
	r.noteWindow(ctx, state, &resp.Diagnostics)
	say := func(t text.Message) { report.Warn(&resp.Diagnostics, t) }
	switch {
	case state.Status.ValueString() == statusRetired:
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("status"), types.StringUnknown())...)
		resp.RequiresReplace.Append(path.Root("status"))
		say(text.MemberRetired(name))
	case state.Status.ValueString() == statusFailed && after.IsNull():
		say(text.MemberSilent(name, was.Since, was.Evidence))
	case state.Status.ValueString() == statusFailed && r.backend.Plan.TakeFailed(name):
		r.backend.Plan.Failed.Set(state.ID.ValueString(), true)
		r.backend.Plan.Replaced.Set(state.ID.ValueString(), true)
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("status"), types.StringUnknown())...)
		resp.RequiresReplace.Append(path.Root("status"))
		say(text.MemberFailed(name, was.Since, was.Evidence))
	case state.Status.ValueString() == statusFailed:
		say(text.MemberFailedToo(name, was.Since, was.Evidence))
	case state.Status.ValueString() == statusUnreachable && was.Evidence != "":
		say(text.MemberSilent(name, was.Since, was.Evidence))
	}
}
