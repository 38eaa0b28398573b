// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	variables "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// plan describes how a member enters the cluster.
type plan struct {
	role     role
	boot     *bootstrap.Bootstrap
	founders []string
}

// size returns the number of members that form the cluster together; 0 if it
// exists already, or if their number is not known.
func (p plan) size() int {
	if p.role == roleJoiner || p.boot == nil {
		return 0
	}
	return int(min(max(p.boot.Size.ValueInt64(), 0), math.MaxInt32))
}

// unformed reports whether the responding cluster is not the cluster to be
// formed: it is the cluster abandoned for it, or a cluster of one initial
// member that did not understand its bootstrap. The decision made now must hold
// for the future cluster, and etcd_member refuses the responding cluster.
func (p plan) unformed(snap membership.Snapshot) bool {
	if p.role != roleJoiner && p.boot != nil && snap.ClusterID != 0 && snap.ClusterID == p.boot.Replaces() {
		return true
	}
	_, alone := membership.SoleFounder(snap)
	return alone && p.size() > 1
}

// planOf decides from the state of the bootstrap alone. While it is incomplete,
// a member is initial if Founders has its name, or if only the size is known.
func (m model) planOf(ctx context.Context, diags *diag.Diagnostics) plan {
	p := plan{role: roleJoiner, boot: bootstrap.From(ctx, m.Bootstrap, diags)}
	if p.boot == nil || p.boot.Complete.ValueBool() {
		return p
	}
	p.role = roleFounder // also if the names are unknown: the safer guess
	if attribute.IsGiven(p.boot.Founders) {
		p.founders = append([]string{}, attribute.Texts(p.boot.Founders)...)
		if !slices.Contains(p.founders, m.Name.ValueString()) {
			p.role = roleAwaiting
		}
	}
	return p
}

// fromCluster sets every value that is computed at creation. c is nil if the
// provider has no endpoints, because no address is known before the machines exist.
func (m *model) fromCluster(ctx context.Context, run *backend.Run, c *backend.Cluster, diags *diag.Diagnostics) {
	name := m.Name.ValueString()
	p := m.planOf(ctx, diags)
	if diags.HasError() {
		return
	}
	within := observeTimeout
	if p.role != roleJoiner {
		within = lookTimeout
	}
	var snap membership.Snapshot
	err := cluster.ErrNoEndpoints
	if c != nil {
		snap, err = c.Glance(ctx, within, p.role == roleJoiner)
	}
	formed := err == nil && !p.unformed(snap)
	log.Debug(ctx, log.Membership, "deciding how a member starts", "name", name, "founder", p.role == roleFounder, "cluster_seen", formed, "error", err)
	if t := m.contradiction(&p, snap, err); t != nil {
		report.Error(diags, *t)
		return
	}
	if d := snap.Gate(0); formed && d.Verdict != membership.Go {
		refusal := &reconfigure.Refusal{Action: reconfigure.ActionConfigure, Name: name, Decision: d, Snapshot: snap}
		report.Error(diags, text.Explain(reconfigure.ActionConfigure, name, refusal))
		return
	}
	var members []membership.Member
	if formed {
		members = snap.Members
	}
	id, err := newID(run.Random)
	if err != nil {
		diags.AddError("No randomness", err.Error())
	}
	m.ID = types.StringValue(id)
	m.Founder, m.Founders = types.BoolValue(p.role == roleFounder), types.Int64Null()
	if p.role != roleJoiner {
		m.Founders = types.Int64Value(int64(p.size()))
	}
	m.JoinScriptBase64Gzip, m.UserDataFormat = types.StringValue(scriptFor(p.boot).Base64Gzip), types.Int64Value(userdata.Format)
	m.Status = types.StringValue(statusPending)
	m.fromMembers(ctx, run.Clock.Now(), p, members, diags)
}

// scriptFor returns the join script of a configuration. It depends on the kind
// of the bootstrap, not on its progress, so that a replacement of a
// configuration has the same script.
func scriptFor(boot *bootstrap.Bootstrap) joinscript.Variant {
	if boot != nil && boot.Protocol.ValueString() != bootstrap.ProtocolStatic {
		return joinscript.Discovery()
	}
	if boot != nil {
		if _, restored := boot.Environment.Elements()[joinscript.RestoreVariable]; restored {
			return joinscript.Restore()
		}
	}
	return joinscript.Static()
}

// fromMembers sets the environment. members are those of the cluster, none if
// it does not exist yet.
func (m *model) fromMembers(ctx context.Context, now time.Time, p plan, members []membership.Member, diags *diag.Diagnostics) {
	name, u := m.Name.ValueString(), m.urls()
	peers := attribute.Texts(m.JoinPeerURLs)
	for _, member := range members {
		peers = append(peers, member.PeerURLs...)
	}
	var initial string
	if len(members) > 0 && p.role != roleFounder && len(u.peer) > 0 {
		self := membership.Member{Name: name, PeerURLs: u.peer}
		initial = membership.FormatInitialCluster(append(slices.Clone(members), self))
	}
	var boot map[string]string
	if p.role != roleJoiner {
		diags.Append(p.boot.Environment.ElementsAs(ctx, &boot, false)...)
	}
	window, err := p.windowOf(name, now)
	if err != nil {
		diags.AddError("Invalid bootstrap window", err.Error())
	}
	maps.Copy(boot, window)
	if p.role == roleAwaiting {
		var founders []string
		boot, founders = toAsk(boot)
		peers = append(peers, founders...)
	}
	env, d := variables.Map(ctx, environment(name, u, p.role == roleFounder, boot, initial, peers))
	diags.Append(d...)
	m.Environment = env
	m.InitialCluster = types.StringNull()
	if initial = cmp.Or(initial, boot["ETCD_INITIAL_CLUSTER"]); initial != "" {
		m.InitialCluster = types.StringValue(initial)
	}
}

// contradiction compares the plan with the observed cluster, and corrects the
// plan if that is safe.
func (m model) contradiction(p *plan, snap membership.Snapshot, err error) *text.Message {
	name := m.Name.ValueString()
	if errors.Is(err, cluster.ErrNoEndpoints) {
		if p.role != roleJoiner || len(m.JoinPeerURLs.Elements()) > 0 {
			return nil
		}
		return new(text.NobodyToAsk(name))
	}
	if err != nil {
		var gone *connection.Unreachable
		unformed := errors.As(err, &gone) || errors.Is(err, context.DeadlineExceeded)
		if p.boot != nil && p.boot.Complete.ValueBool() {
			return new(text.ClusterGone(name, err))
		}
		if p.role == roleJoiner || !unformed || cluster.Hopeless(err) {
			return new(text.Explain(reconfigure.ActionConfigure, name, &reconfigure.NoCluster{Name: name, Cause: err}))
		}
		return nil
	}
	if p.unformed(snap) {
		return nil
	}
	listed := slices.IndexFunc(snap.Members, func(x membership.Member) bool { return x.Name == name })
	if listed >= 0 {
		return new(text.NameInCluster(name, snap.Members[listed]))
	}
	if p.role == roleFounder {
		// The cluster exists: the state that says otherwise is out of date.
		if p.founders != nil {
			return new(text.FounderMissing(name, snap))
		}
		p.role = roleJoiner
	}
	return nil
}
