// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// The defaults of timeouts.
const (
	defaultJoin  = 10 * time.Minute
	defaultLeave = 5 * time.Minute
)

// join is [reconfigure.Engine.Join] or a function that ends in it.
type join func(*reconfigure.Engine, context.Context, reconfigure.JoinRequest) (reconfigure.Joined, error)

// ensure joins the member and sets the fields of the model. action is the
// user's request: to add or to promote the member.
func (m *model) ensure(ctx context.Context, b *backend.Backend, action reconfigure.Action, join join, req reconfigure.JoinRequest, diags *diag.Diagnostics) {
	b.Applying.Store(true)
	c := m.clusterOf(b, diags)
	if diags.HasError() {
		return
	}
	joined, err := join(c.Engine, ctx, req)
	if held, ok := errors.AsType[*reconfigure.HeldUp](err); ok {
		report.Warn(diags, text.FailoverHeldUp(req.Name, held))
		return
	}
	if err != nil {
		if none, ok := errors.AsType[*reconfigure.NoCluster](err); ok {
			none.Missing = b.MissingFounders(m.configID())
		}
		if late, ok := errors.AsType[*reconfigure.Incomplete](err); ok {
			made, _ := b.Configured.Get(m.configID())
			late.FrozenCluster = made.InitialCluster
		}
		report.Error(diags, text.Explain(action, req.Name, err))
		return
	}
	c.WarnUntrusted(joined.Snapshot, diags)
	report.Done(diags, action, req.Name, joined.Warnings, joined.Snapshot, joined.Waited)
	c.ClearReplaced(ctx, joined.Snapshot.ClusterID, &b.Plan)
	m.fromJoined(ctx, joined, diags)
}

// promote promotes the member to a voter.
func (m *model) promote(ctx context.Context, b *backend.Backend, join join, diags *diag.Diagnostics) {
	timeout, d := m.Timeouts.Update(ctx, defaultJoin)
	diags.Append(d...)
	req := m.toRequest()
	req.ID, req.Cluster = m.ids(diags)
	req.Goal = reconfigure.Voting
	if diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.ensure(ctx, b, reconfigure.ActionPromote, join, req, diags)
}

// refresh updates the model. present is false if the member is no longer in the
// cluster.
func (m *model) refresh(ctx context.Context, b *backend.Backend, diags *diag.Diagnostics) (present bool) {
	if b.Unknown {
		return true
	}
	var badIDs diag.Diagnostics
	id, cluster := m.ids(&badIDs)
	if badIDs.HasError() {
		diags.Append(asWarnings(badIDs)...)
		return true
	}
	c, bad, err := m.reach(b, diags)
	if bad != nil {
		report.Warn(diags, text.EndpointNotUsed(m.Name.ValueString(), bad))
	}
	var snap membership.Snapshot
	if err == nil {
		c.ExpectCluster(cluster, attribute.Texts(m.ClientURLs))
		snap, err = c.View(ctx, cluster)
	}
	switch {
	case err != nil:
		if c == nil && bad == nil || c != nil && c.FirstTime("unreachable") {
			report.Warn(diags, text.NotRefreshed(err))
		}
		return true
	case snap.ClusterID != cluster:
		if c.FirstTime("other cluster than " + cluster.String()) {
			report.Warn(diags, text.OtherClusterSeen(reconfigure.NewOtherCluster(cluster, snap)))
		}
		return true
	}
	c.WarnUntrusted(snap, diags)
	listed, ok := snap.Member(id)
	if !ok && !snap.Linearizable {
		return true // a list that a quorum does not confirm may be out of date
	}
	if !ok {
		// The list of one member suffices for display. Only a list that a
		// majority confirms allows the member to be dropped from the state.
		if snap, err = c.Confirmed(ctx, cluster, reconfigure.ActionRead, m.Name.ValueString()); err != nil {
			report.Warn(diags, text.GoneUnconfirmed(m.Name.ValueString(), err))
			return true
		}
		if listed, ok = snap.Member(id); !ok {
			return false
		}
	}
	switch {
	case m.Name.IsNull() && listed.Name != "":
		m.Name = types.StringValue(listed.Name) // imported before it had a name
	case listed.Name != "" && listed.Name != m.Name.ValueString():
		report.Warn(diags, text.Renamed(m.Name.ValueString(), listed))
	}
	m.fromMember(listed, snap.Answer(id))
	return true
}

// leave removes the member. was is the recorded owner if it is not the model's
// own, otherwise "". gone are the voters that the plan of a restore states are gone.
func (m model) leave(ctx context.Context, b *backend.Backend, reason deleteReason, was string, gone []string, diags *diag.Diagnostics) {
	b.Applying.Store(true)
	timeout, d := m.Timeouts.Delete(ctx, defaultLeave)
	diags.Append(d...)
	if diags.HasError() {
		return
	}
	name := m.Name.ValueString()
	// Forgetting half of a replacement would destroy its machine while the rest
	// of the cluster may still need it.
	forget := reason == deleteRemoval
	id, cluster := m.ids(diags)
	if diags.HasError() {
		return
	}
	c, _, err := m.reach(b, diags)
	if err == nil {
		c.ExpectCluster(cluster, attribute.Texts(m.ClientURLs))
	}
	switch {
	case reason == deleteAbandoned:
		b.Abandon(ctx, c, cluster, m.listed(), gone, diags)
		return
	case err != nil: // no address to ask
		lost := b.CheckLost(cluster, m.listed(), err)
		if lost == nil && forget {
			report.Warn(diags, text.MemberForgotten(name, id, err))
			return
		}
		report.Error(diags, text.Explain(reconfigure.ActionRemove, name, cmp.Or(lost, err)))
		return
	}
	if t := m.refuseDelete(ctx, c, reason, id, cluster); t != nil {
		report.Error(diags, *t)
		return
	}
	left, err := c.Leave(ctx, reconfigure.LeaveRequest{
		Owner: cmp.Or(was, m.owner()), KeepRecord: was == "" && m.owner() == m.configID(),
		ID: id, Cluster: cluster, Name: name, PeerURLs: m.peers(), ClientURLs: attribute.Texts(m.ClientURLs),
		Replacement: reason != deleteRemoval, Forget: forget, Shared: m.role == roleLearner, Timeout: timeout,
	})
	if err != nil {
		report.Error(diags, text.Explain(reconfigure.ActionRemove, name, err))
		return
	}
	report.Done(diags, reconfigure.ActionRemove, name, left.Warnings, left.Snapshot, left.Waited)
	switch {
	case left.LastVoter:
		report.Warn(diags, text.LastVoterForgotten(name, id))
	case left.Forgotten != nil:
		report.Warn(diags, text.MemberForgotten(name, id, left.Forgotten))
	}
}

// readdress updates the member's peer URLs if they have changed.
func (m *model) readdress(ctx context.Context, b *backend.Backend, state model, diags *diag.Diagnostics) {
	b.Applying.Store(true)
	want := m.peers()
	if slices.Equal(want, state.peers()) {
		return
	}
	timeout, d := m.Timeouts.Update(ctx, defaultJoin)
	diags.Append(d...)
	c := m.clusterOf(b, diags)
	id, cluster := state.ids(diags)
	if diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := m.Name.ValueString()
	updated, err := c.UpdatePeerURLs(ctx, reconfigure.UpdateRequest{Owner: m.owner(), ID: id, Cluster: cluster, Name: name, PeerURLs: want})
	if err != nil {
		report.Error(diags, text.Explain(reconfigure.ActionUpdate, name, err))
		return
	}
	report.Done(diags, reconfigure.ActionUpdate, name, updated.Warnings, updated.Snapshot, updated.Waited)
	report.Warn(diags, text.RestartNow(name, want))
}

// own records the present owner of the member: for an imported member that got
// its configuration, a member without its former learner_id, or a moved member.
// was is the previous owner, state what the cluster has on record.
func (m model) own(ctx context.Context, b *backend.Backend, was string, state model, diags *diag.Diagnostics) {
	if m.owner() == was {
		return
	}
	c := m.clusterOf(b, diags)
	id, at := state.ids(diags)
	if diags.HasError() {
		return
	}
	if err := c.Own(ctx, reconfigure.OwnRequest{
		Was: was, Owner: m.owner(), Cluster: at, ID: id, Name: m.Name.ValueString(), PeerURLs: state.peers(), Started: state.Version.ValueString() != "",
	}); err != nil {
		report.Error(diags, text.Explain(reconfigure.ActionRecord, m.Name.ValueString(), err))
	}
}
