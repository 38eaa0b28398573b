// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	variables "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// looker looks at the cluster, for a limited time. Its Cluster is nil where the
// provider has no endpoints, because no address is known before the machines.
type looker struct{ *backend.Cluster }

// look is [reconfigure.Engine.Glance].
func (l looker) look(ctx context.Context, within time.Duration, patient bool) (membership.Snapshot, error) {
	if l.Cluster == nil {
		return membership.Snapshot{}, cluster.ErrNoEndpoints
	}
	return l.Glance(ctx, within, patient)
}

// plan is how a member comes into the cluster.
type plan struct {
	role     role
	boot     *bootstrap.Bootstrap
	founders []string
}

// size is how many members are to form the cluster together; 0 where it is
// formed already, or their number is not known.
func (p plan) size() int {
	if p.role == roleJoiner || p.boot == nil {
		return 0
	}
	return int(min(max(p.boot.Size.ValueInt64(), 0), math.MaxInt32))
}

// unformed reports whether what answers is not the cluster that is being
// formed: a founder that did not understand its bootstrap has formed one of its
// own. What is decided now must hold for the one that is still to come, and
// etcd_member refuses this one.
func (p plan) unformed(snap membership.Snapshot) bool {
	_, alone := membership.SoleFounder(snap)
	return alone && p.size() > 1
}

// planOf decides from the state of the bootstrap alone: a name among the
// founders while it is incomplete, or any name where only the size is known.
func (m model) planOf(ctx context.Context) (plan, fwdiag.Diagnostics) {
	p := plan{role: roleJoiner}
	boot, diags := bootstrap.From(ctx, m.Bootstrap)
	if boot == nil || diags.HasError() {
		return p, diags
	}
	p.boot = boot
	if boot.Complete.ValueBool() {
		return p, diags
	}
	p.role = roleFounder
	if boot.Founders.IsUnknown() {
		return p, diags // only while planning, when a founder is the safer guess
	}
	if !boot.Founders.IsNull() {
		diags.Append(boot.Founders.ElementsAs(ctx, &p.founders, false)...)
		if !slices.Contains(p.founders, m.Name.ValueString()) {
			p.role = roleAwaiting
		}
	}
	return p, diags
}

// decide fills in everything that is computed at creation.
func (m *model) decide(ctx context.Context, l looker) (*diag.Text, fwdiag.Diagnostics) {
	name := m.Name.ValueString()
	u, diags := m.urls(ctx)
	p, d := m.planOf(ctx)
	diags.Append(d...)
	if diags.HasError() {
		return nil, diags
	}
	within := patience
	if p.role != roleJoiner {
		within = lookTimeout
	}
	snap, err := l.look(ctx, within, p.role == roleJoiner)
	formed := err == nil && !p.unformed(snap)
	if text := m.contradiction(&p, snap, err); text != nil {
		return text, diags
	}

	if d := snap.Gate(0); formed && d.Verdict != membership.Go {
		t := diag.Explain(reconfigure.ActionConfigure, name, &reconfigure.Refusal{Action: reconfigure.ActionConfigure, Name: name, Decision: d, Snapshot: snap})
		return &t, diags
	}

	var initial string
	peers, d := texts(ctx, m.JoinPeerURLs)
	diags.Append(d...)
	if formed {
		self := membership.Member{Name: name, PeerURLs: u.peer}
		for _, member := range snap.Members {
			peers = append(peers, member.PeerURLs...)
		}
		if p.role != roleFounder && len(u.peer) > 0 {
			initial = membership.FormatInitialCluster(append(slices.Clone(snap.Members), self))
		}
	}
	var boot map[string]string
	if p.role != roleJoiner {
		diags.Append(p.boot.Environment.ElementsAs(ctx, &boot, false)...)
	}
	window, err := p.windowOf(name, time.Now())
	if err != nil {
		diags.AddError("Invalid bootstrap window", err.Error())
	}
	maps.Copy(boot, window)
	if p.role == roleAwaiting {
		var founders []string
		boot, founders = toAsk(boot)
		peers = append(peers, founders...)
	}
	id, err := newID()
	if err != nil {
		diags.AddError("No randomness", err.Error())
	}
	m.ID = types.StringValue(id)
	m.Founder, m.Founders = types.BoolValue(p.role == roleFounder), types.Int64Null()
	if p.role != roleJoiner {
		m.Founders = types.Int64Value(int64(p.size()))
	}
	env, d := variables.Map(ctx, environment(name, u, p.role == roleFounder, boot, initial, peers))
	diags.Append(d...)
	m.Environment = env
	m.InitialCluster = types.StringNull()
	if initial == "" {
		initial = boot["ETCD_INITIAL_CLUSTER"]
	}
	if initial != "" {
		m.InitialCluster = types.StringValue(initial)
	}
	m.JoinScriptBase64Gzip = types.StringValue(joinscript.Base64Gzip)
	m.Status = types.StringValue(statusPending)
	return nil, diags
}

// contradiction compares the plan with what the cluster says, and mends it
// where that is safe.
func (m model) contradiction(p *plan, snap membership.Snapshot, err error) *diag.Text {
	name := m.Name.ValueString()
	if errors.Is(err, cluster.ErrNoEndpoints) {
		if p.role != roleJoiner || len(m.JoinPeerURLs.Elements()) > 0 {
			return nil
		}
		t := diag.NobodyToAsk(name)
		return &t
	}
	if err != nil {
		var gone *cluster.Unreachable
		unformed := errors.As(err, &gone) || errors.Is(err, context.DeadlineExceeded)
		if p.boot != nil && p.boot.Complete.ValueBool() {
			t := diag.ClusterGone(name, err)
			return &t
		}
		if p.role == roleJoiner || !unformed || cluster.Hopeless(err) {
			t := diag.Explain(reconfigure.ActionConfigure, name, &reconfigure.NoCluster{Name: name, Cause: err})
			return &t
		}
		return nil
	}
	if p.unformed(snap) {
		return nil
	}
	listed := slices.IndexFunc(snap.Members, func(x membership.Member) bool { return x.Name == name })
	if listed >= 0 {
		t := diag.NameInCluster(name, snap.Members[listed])
		return &t
	}
	if p.role == roleFounder {
		// The cluster exists: the state that said otherwise is behind.
		if p.founders != nil {
			t := diag.FounderMissing(name, snap)
			return &t
		}
		p.role = roleJoiner
	}
	return nil
}
