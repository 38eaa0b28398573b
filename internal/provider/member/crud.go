// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"cmp"
	"context"
	"errors"
	"time"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The defaults of timeouts and stall_timeout.
const (
	defaultStall = "5m"
	defaultJoin  = 10 * time.Minute
	defaultLeave = 5 * time.Minute
)

// ensure joins the member and fills the model in. action is what the user asked
// for: to add or to promote it.
func (m *model) ensure(ctx context.Context, b *backend.Backend, action reconfigure.Action, req reconfigure.JoinRequest) fwdiag.Diagnostics {
	b.Order.StartApply()
	c, diags := m.clusterOf(ctx, b)
	if diags.HasError() {
		return diags
	}
	joined, err := c.Join(ctx, req)
	if err != nil {
		if none, ok := errors.AsType[*reconfigure.NoCluster](err); ok {
			none.Missing = b.MissingFounders(m.configID())
		}
		if late, ok := errors.AsType[*reconfigure.Incomplete](err); ok {
			made, _ := b.Configured.Get(m.configID())
			late.FrozenCluster = made.InitialCluster
		}
		report.Error(&diags, diag.Explain(action, req.Name, err))
		return diags
	}
	c.WarnUntrusted(joined.Snapshot, &diags)
	for _, w := range joined.Warnings {
		report.Warn(&diags, diag.WarningText(action, req.Name, w, joined.Snapshot))
	}
	waited(&diags, req.Name, joined.Waited)
	diags.Append(m.take(ctx, joined)...)
	return diags
}

// waited says for whom a change had to wait.
func waited(diags *fwdiag.Diagnostics, name string, w *reconfigure.Waited) {
	if w != nil {
		report.Warn(diags, diag.LockWaited(name, *w))
	}
}

// refresh brings the model up to date. present is false when the member is no
// longer in the cluster.
func (m *model) refresh(ctx context.Context, b *backend.Backend, h backend.Holder) (present bool, diags fwdiag.Diagnostics) {
	// Terraform refreshes a tainted resource, and then plans it as if it were new.
	b.Plan.Hold(planned{Config: memberconfig.MemberOf(m.Config).ID, Name: m.Name, Endpoints: m.Endpoints}.key(), h)
	if b.Unknown {
		return true, nil
	}
	id, cluster, d := m.ids()
	if d.HasError() {
		return true, asWarnings(d)
	}
	c, bad, err := m.reach(ctx, b)
	if bad != nil {
		report.Warn(&diags, diag.EndpointNotUsed(m.Name.ValueString(), bad))
	}
	var snap membership.Snapshot
	if err == nil {
		diags.Append(m.expect(ctx, c)...)
		snap, err = c.View(ctx, cluster)
	}
	switch {
	case err != nil:
		if c == nil && bad == nil || c != nil && c.FirstTime("unreachable") {
			report.Warn(&diags, diag.NotRefreshed(err))
		}
		return true, diags
	case snap.ClusterID != cluster:
		if c.FirstTime("other cluster than " + cluster.String()) {
			report.Warn(&diags, diag.OtherClusterSeen(&reconfigure.OtherCluster{Want: cluster, Got: snap.ClusterID, Endpoints: endpointsOf(snap)}))
		}
		return true, diags
	}
	c.WarnUntrusted(snap, &diags)
	listed, ok := snap.Member(id)
	if !ok && !snap.Linearizable {
		return true, diags // a list that no quorum stands behind may be out of date
	}
	if !ok {
		// One member's list is enough to show. Only a list that a majority
		// confirms lets go of a member.
		if snap, err = c.Confirmed(ctx, cluster, reconfigure.ActionRead, m.Name.ValueString()); err != nil {
			report.Warn(&diags, diag.GoneUnconfirmed(m.Name.ValueString(), err))
			return true, diags
		}
		if listed, ok = snap.Member(id); !ok {
			return false, diags
		}
	}
	switch {
	case m.Name.IsNull() && listed.Name != "":
		m.Name = types.StringValue(listed.Name) // imported before it had one
	case listed.Name != "" && listed.Name != m.Name.ValueString():
		report.Warn(&diags, diag.Renamed(m.Name.ValueString(), listed))
	}
	diags.Append(m.observe(ctx, listed, snap.Answer(id))...)
	return true, diags
}

// leave takes the member out. was is the owner on record, if that is another
// than the model's own.
func (m model) leave(ctx context.Context, b *backend.Backend, k kind, leg leg, was string) fwdiag.Diagnostics {
	b.Order.StartApply()
	timeout, diags := m.Timeouts.Delete(ctx, defaultLeave)
	peers, d := m.peers(ctx)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	name := m.Name.ValueString()
	// To forget half of a replacement would end its machine while the rest of
	// the cluster may still need it.
	force := leg == legRemoval && (m.ForceDestroy.ValueBool() || b.ForceDestroy)
	id, cluster, bad := m.ids()
	c, _, err := m.reach(ctx, b)
	switch {
	case force && bad.HasError():
		diags.Append(asWarnings(bad)...)
		return diags
	case bad.HasError():
		return bad
	case err != nil && force:
		report.Warn(&diags, diag.ForgottenByForce(name, id, err))
		return diags
	case err != nil:
		report.Error(&diags, diag.Explain(reconfigure.ActionRemove, name, err))
		return diags
	}
	diags.Append(m.expect(ctx, c)...)
	if t := m.refuseDelete(ctx, c, leg, id, cluster); t != nil {
		report.Error(&diags, *t)
		return diags
	}
	request := reconfigure.LeaveRequest{
		Owner: cmp.Or(was, m.owner(k)), KeepRecord: was == "" && m.configID() != "" && k != kindTaker,
		ID: id, Cluster: cluster, Name: name, PeerURLs: peers,
		Replacement: leg != legRemoval, Force: force, Shared: k == kindLearner, Timeout: timeout,
	}
	if leg == legInTurn {
		request.TurnTimeout = timeout
	}
	left, err := c.Leave(ctx, request)
	if err != nil {
		report.Error(&diags, diag.Explain(reconfigure.ActionRemove, name, err))
		return diags
	}
	for _, w := range left.Warnings {
		report.Warn(&diags, diag.WarningText(reconfigure.ActionRemove, name, w, left.Snapshot))
	}
	waited(&diags, name, left.Waited)
	switch {
	case left.LastVoter:
		report.Warn(&diags, diag.LastVoterForgotten(name, id))
	case left.Forgotten != nil:
		report.Warn(&diags, diag.ForgottenByForce(name, id, left.Forgotten))
	}
	return diags
}

// readdress updates the member's peer URLs, if they have changed.
func (m *model) readdress(ctx context.Context, b *backend.Backend, k kind, state model) fwdiag.Diagnostics {
	b.Order.StartApply()
	want, diags := m.peers(ctx)
	have, d := state.peers(ctx)
	diags.Append(d...)
	if diags.HasError() || membership.SameURLs(want, have) {
		return diags
	}
	timeout, d := m.Timeouts.Update(ctx, defaultJoin)
	diags.Append(d...)
	c, d := m.clusterOf(ctx, b)
	diags.Append(d...)
	id, cluster, d := state.ids()
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := m.Name.ValueString()
	updated, err := c.UpdatePeerURLs(ctx, reconfigure.UpdateRequest{Owner: m.owner(k), ID: id, Cluster: cluster, Name: name, PeerURLs: want})
	if err != nil {
		report.Error(&diags, diag.Explain(reconfigure.ActionUpdate, name, err))
		return diags
	}
	waited(&diags, name, updated.Waited)
	for _, w := range updated.Warnings {
		report.Warn(&diags, diag.WarningText(reconfigure.ActionUpdate, name, w, updated.Snapshot))
	}
	report.Warn(&diags, diag.RestartNow(name, want))
	return diags
}

// own puts the member on record for the owner that it has now: an imported one
// that was given its configuration, one whose learner_id was left out, or one
// that was moved. was is the owner before, state what the cluster knows.
func (m model) own(ctx context.Context, b *backend.Backend, k kind, was string, state model) fwdiag.Diagnostics {
	if m.owner(k) == was {
		return nil
	}
	c, diags := m.clusterOf(ctx, b)
	id, at, d := state.ids()
	diags.Append(d...)
	peers, d := state.peers(ctx)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	if err := c.Own(ctx, reconfigure.OwnRequest{
		Was: was, Owner: m.owner(k), Cluster: at, ID: id, Name: m.Name.ValueString(), PeerURLs: peers, Started: state.Version.ValueString() != "",
	}); err != nil {
		report.Error(&diags, diag.Explain(reconfigure.ActionRecord, m.Name.ValueString(), err))
	}
	return diags
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("a duration must be more than zero")
	}
	return d, err
}
