// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// healthKey is the key under which Read stores its [health].
const healthKey = "health"

// health is what a refresh found, for the plans that follow.
type health struct {
	membership.NodesHealth
	// Silent are the members that do not answer, by the name of their node.
	Silent map[string]silence `json:"silent,omitempty"`
	// Other is the record of another etcd_cluster, if the cluster has one.
	Other port.ObjectRecord `json:"other,omitzero"`
	// NoAddress is true if no address of the cluster is known.
	NoAddress bool `json:"no_address,omitempty"`
}

// unobserved returns what stays of it after a refresh that observed nothing: what is not known is
// not healthy.
func (h health) unobserved() health {
	return health{NodesHealth: h.Unobserved(), Silent: h.Silent, Other: h.Other}
}

// patience limits how long all that a refresh waits for a silence to last.
const patience = 30 * time.Second

// silence describes a member that does not answer. Its time is counted by one clock, that
// of the leader: the clocks of the computers that run Terraform differ. Two refreshes see
// one silence only if the leader has led in between, and has received nothing.
type silence struct {
	// Since is the time at which it was first found silent in both views, For how long it
	// was then.
	Since time.Time     `json:"since"`
	For   time.Duration `json:"for,omitempty"`
	// Leader led in Term, and had received that many bytes of the member.
	Leader membership.MemberID `json:"leader,omitempty"`
	Term   uint64              `json:"term,omitempty"`
	Bytes  float64             `json:"bytes,omitempty"`
	// Evidence and Unseen are texts for the operator. Unseen says why the leader's view is
	// missing, "" if it is not.
	Evidence string `json:"evidence"`
	Unseen   string `json:"unseen,omitempty"`
}

// next returns the silence that an observation at a time shows, after this one.
func (s silence) next(now silence, at time.Time) silence {
	now.Since = at
	counted := s.Leader == now.Leader && s.Term == now.Term && s.Bytes == now.Bytes
	if counted && !s.Since.IsZero() && !at.Before(s.Since) {
		now.Since = s.Since
	}
	now.For = at.Sub(now.Since)
	return now
}

// judge observes the nodes of a cluster. was is what the last refresh stored. after is the
// time after which a member that is unreachable has failed, 0 if there is none. c has
// answered with snap.
func judge(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, nodes []membership.Node, was health, after time.Duration) health {
	owned := map[string]membership.Ownership{}
	var open []membership.Turn
	if snap.Linearizable { // without a quorum they cannot be read
		turns, err := c.OpenTurns(ctx, snap)
		if err != nil {
			return was.unobserved()
		}
		open = turns
		if snap, err = c.WithEvidence(ctx, snap); err != nil {
			return was.unobserved()
		}
		for _, n := range nodes {
			r, _, err := c.Cluster.Records(snap.ClusterID).Get(ctx, n.ID)
			if err != nil {
				return was.unobserved()
			}
			owned[n.ID] = r.Ownership()
		}
	}
	judged := membership.JudgeNodes(snap, owned, open, nodes).Since(was.NodesHealth)
	now := health{NodesHealth: judged, Silent: map[string]silence{}}
	for i, e := range now.Members {
		if !e.Dropped {
			continue
		}
		owners, err := port.Owners(ctx, c.Cluster.Records(snap.ClusterID), e.Member)
		now.Members[i].Dropped = err != nil || len(owners) == 0 // what cannot be read does not say that it has one
	}
	until := c.Clock.Now().Add(patience)
	for i, e := range now.Members {
		if e.Status != membership.NodeUnreachable || e.Node == "" {
			continue
		}
		failed, seen := watch(ctx, c, snap, e, was.Silent[e.Name], after, until)
		if now.Silent[e.Name] = seen; failed {
			now.Members[i].Status = membership.NodeFailed
		}
	}
	return now
}

// warn says which members do not answer and are not replaced.
func (h health) warn(c *backend.Cluster, after time.Duration, diags *diag.Diagnostics) {
	for _, e := range h.Members {
		seen := h.Silent[e.Name]
		if e.Status == membership.NodeUnreachable && (!seen.Since.IsZero() || seen.Unseen != "") && c.FirstTime("silent "+e.Name) {
			report.Warn(diags, silentMember(e.Name, seen, after))
		}
	}
}

// waiting returns the members that fail once their silence has lasted, and why they wait.
func (h health) waiting(after time.Duration) (names []string, reason string) {
	for _, e := range h.Members {
		if seen := h.Silent[e.Name]; after > 0 && e.Status == membership.NodeUnreachable && !seen.Since.IsZero() && seen.Unseen == "" {
			names, reason = append(names, e.Name), silentUntil(e.Name, seen, after)
		}
	}
	return names, reason
}

// look asks the leader for its view of a member that does not answer.
func (s silence) look(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, id membership.MemberID) (membership.Loss, silence) {
	leader, term, _ := snap.MajorityLeader()
	connected := snap.Heard // the caller of the first look has asked for it
	if connected == nil {
		connected = port.SeenByLeader(ctx, c.Cluster, snap, []membership.MemberID{id})
	}
	loss := membership.JudgeLoss(snap, id, connected)
	s.Unseen = ""
	switch {
	case loss == membership.Present:
		return loss, silence{}
	case loss == membership.Unsettled || snap.Gate(id).Verdict != membership.Go:
		return loss, s
	case connected[id] || !slices.Contains(snap.Down(), id):
		return loss, silence{} // the leader hears it, or something answers at its address
	}
	heard, err := c.Cluster.Metrics(ctx, leader)
	_, known := heard.Connected[id]
	switch {
	case err != nil:
		s.Unseen = err.Error()
	case !known || heard.At.IsZero() || loss != membership.Vanished:
		s.Unseen = "the metrics of the leader do not have the member"
	default:
		now := silence{Leader: leader, Term: term, Bytes: heard.Traffic[id].Received, Evidence: text.FailureEvidence(snap, id)}
		return loss, s.next(now, heard.At)
	}
	return membership.Unreachable, s
}

// watch observes a member that does not answer. It waits until the member has been silent
// for the time, if that is so before until.
func watch(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, e membership.NodeHealth, seen silence, after time.Duration, until time.Time) (failed bool, _ silence) {
	left := func() time.Duration { return after - seen.For }
	first := true
	loss := c.WatchLoss(ctx, e.Name, func() (membership.Loss, time.Duration) {
		if !first {
			var err error
			if snap, err = c.CachedSnapshot(ctx, snap.ClusterID); err != nil {
				return membership.Unreachable, 0
			}
		}
		first = false
		var loss membership.Loss
		loss, seen = seen.look(ctx, c, snap, e.Member)
		switch now := c.Clock.Now(); {
		case after == 0 && loss == membership.Unsettled:
			return membership.Unreachable, 0
		case left() > until.Sub(now):
			return loss, 0 // a later plan continues
		}
		return loss, left()
	})
	return loss == membership.Vanished && after > 0 && left() <= 0, seen
}

// after returns the time after which a member has failed, 0 if there is none. It was
// validated already.
func (m model) after() time.Duration {
	d, _ := time.ParseDuration(m.ReplaceUnreachableAfter.ValueString())
	return d
}

// silentMember is the warning for a member that does not answer and is not replaced.
func silentMember(name string, seen silence, after time.Duration) text.Message {
	first, evidence := "It has not answered since "+seen.Since.Format(time.RFC3339)+".", seen.Evidence
	last := "With replace_unreachable_after set, a plan rebuilds the node by itself."
	switch {
	case seen.Unseen != "":
		first, evidence = "It does not answer Terraform, and the leader's view of it is missing:", seen.Unseen+"."
		last = "replace_unreachable_after needs the leader's view. If /metrics is not at the client URLs, as with ETCD_LISTEN_CLIENT_HTTP_URLS, set metrics_url of the provider."
	case after > 0:
		last = "With replace_unreachable_after, " + silentUntil(name, seen, after) + ". An apply stores that time, also terraform apply -refresh-only."
	}
	return text.New("Member "+name+" does not answer",
		"%s %s If its machine has failed for good, replace the machine. The member follows it:\n\n  terraform apply -replace='ADDRESS OF THE MACHINE OF %s'\n\n"+
			"If its log says \"found data inconsistency with peers\", etcd refuses to start. That line and those before it tell whose data differs. %s",
		text.Verbatim(first), evidence, text.Clean(name), text.Verbatim(last))
}

// silentUntil says when a silent member has failed.
func silentUntil(name string, seen silence, after time.Duration) string {
	return fmt.Sprintf("a plan after %s rebuilds %s, if the leader stays and hears nothing from it", seen.Since.Add(after).Format(time.RFC3339), text.Clean(name))
}

// agrees reports whether a plan replaces machines as a plan with a refresh does. It adds an
// error if not. What an earlier run stored does not show which voters have died since, and
// with -target a machine goes without its member, so that nothing at apply asks again. The
// plan is not changed by what is seen, because Terraform asks for it again during the
// apply. If that comes first of all, it looks again.
func (r *Resource) agrees(ctx context.Context, p nodesPlan, state model, stored health, diags *diag.Diagnostics) bool {
	keeps := p.Rebuilt == "" && len(p.TakenBack)+len(p.unfollowed(stored)) == 0
	if keeps || r.Backend.Table.Fresh(state.ID.ValueString()) {
		return true
	}
	if r.Backend.Unknown {
		if p.Rebuilt != "" {
			report.Error(diags, text.UnknownProvider("rebuild "+p.Rebuilt))
		}
		return p.Rebuilt == ""
	}
	seen := r.refresh(ctx, &state, stored, diags)
	now := nodesPlan{NodesPlan: membership.PlanNodes(p.wanted, p.nodes, seen.NodesHealth), saves: p.saves}
	differs := p.Rebuilt != "" && p.Rebuilt != now.Rebuilt || !slices.Equal(p.TakenBack, now.TakenBack)
	if differs {
		report.Error(diags, text.New("The plan needs a refresh",
			"The plan was made without a refresh, by what an earlier run saw: %s. By what the cluster shows now, %s. Reason: %s. Plan again without -refresh=false.",
			p.does(), now.does(), cmp.Or(now.reason(state.Complete.ValueBool(), seen.NoAddress), "the cluster has changed since")))
	}
	return !differs
}

// does says which machine is replaced, and which are not after all.
func (p nodesPlan) does() string {
	does := cmp.Or(p.Rebuilt, "no node") + " is rebuilt"
	if len(p.TakenBack) > 0 {
		does += ", and the rebuild of " + strings.Join(p.TakenBack, ", ") + " is taken back"
	}
	return does
}

// noteEffects enters what the plan does to members in the table of the plan.
func (r *Resource) noteEffects(p nodesPlan, state model, stored health) {
	id, err := membership.ParseClusterID(state.ClusterID.ValueString())
	if err != nil || r.Backend.Table.Applies() {
		return
	}
	for _, e := range p.Effects(id, p.nodes, stored.NodesHealth) {
		r.Backend.Table.Note(e)
	}
}
