// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// keptKey is the key of what the resource keeps in its private data.
const keptKey = "kept"

// kept is what the resource keeps beside its state. A call of a plan stores what later calls
// need: Terraform does not tell Delete whether the member is removed or replaced, and plans
// a replacement a second time, without the state.
type kept struct {
	Removal bool              `json:"removal,omitempty"`
	Entry   *membership.Entry `json:"entry,omitempty"`
	// Endpoints lead to the cluster of the member that is replaced.
	Endpoints []string `json:"endpoints,omitempty"`
	// Lost are the clusters that the plan gives up.
	Lost []membership.GivingUp `json:"lost,omitempty"`
	// Moved is the recorded owner of a member that a moved block gave another type, until
	// an update records the new resource as the owner.
	Moved string `json:"moved,omitempty"`
	// Imported is true from an import until an apply updates the member: the state does not
	// have then that the member depends on its machine.
	Imported bool `json:"imported,omitempty"`
	// Failover is what Read found, because a plan must give the same result when it is
	// applied.
	Failover lostVoters `json:"failover,omitzero"`
}

// ModifyPlan implements resource.ResourceWithModifyPlan. It hands what the plan does to
// the member to the table of the plan, and prints the rules that are broken.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	before := private.Kept[kept](ctx, req.Private, keptKey, diags)
	state, plan := model{role: r.role}, model{role: r.role}
	if !req.State.Raw.IsNull() {
		state = r.role.model(ctx, req.State, diags)
	}
	if req.Plan.Raw.IsNull() {
		ctx = trusted(ctx, req.Private, diags)
	} else {
		plan = r.role.model(ctx, req.Plan, diags)
		ctx = connection.TrustHosts(ctx, plan.given()...)
		r.role.model(ctx, req.Config, diags).check(diags)
		if !plan.sameName {
			attribute.CheckNewName(path.Root("name"), state.Name, plan.Name, diags)
		}
	}
	if diags.HasError() {
		return
	}
	var e membership.Entry
	var endpoints []string
	if !req.State.Raw.IsNull() {
		e, endpoints = noteOf(state), r.endpoints(state)
		e.Object, e.Unapplied = r.Backend.Table.Object(), before.Imported
		e.Read = r.Backend.Table.Fresh(state.ID.ValueString())
		e.ByImport = r.Backend.Table.Imports(state.ID.ValueString())
	}
	switch {
	case req.Plan.Raw.IsNull():
		e.Effect = membership.Removed
	case !req.State.Raw.IsNull():
		e.Readdressed = !attribute.SomeUnknown(plan.PeerURLs) && e.Before.Node == sideOf(plan).Node && !slices.Equal(plan.peers(), state.peers())
	case before.Entry != nil:
		e, endpoints = *before.Entry, before.Endpoints
		e.Effect = membership.Replaced
	default:
		e = membership.Entry{Object: r.Backend.Table.Object(), Effect: membership.Created}
	}
	if !req.Plan.Raw.IsNull() {
		plan.planComputed(state, before, diags)
		diags.Append(resp.Plan.Set(ctx, plan.stored())...)
		r.complete(&e, plan)
		endpoints = append(endpoints, r.endpoints(plan)...)
		var more []string
		e, more = e.Located(r.Backend.Table.Clusters())
		endpoints = append(endpoints, more...)
		if !plan.Config.IsNull() && plan.MachineID.IsNull() {
			report.WarnAt(diags, path.Root("machine_id"), text.New("Member "+plan.Name.ValueString()+" has no machine_id",
				"Without machine_id Terraform does not know that the member depends on its machine: it may destroy the machine before the member is removed, "+
					"and a machine that is replaced alone is not noticed. Set machine_id to the ID of the machine that runs the member."))
		}
		built := e.After.Node != "" && e.After.Node != membership.Unknown
		if built && r.Backend.Table.Misses(*e.After) && r.Backend.FirstTime("alone") {
			report.Warn(diags, plannedAlone(plan.Name.ValueString()))
		}
	}
	lost := membership.GivenUp(r.Backend.Table.Clusters())
	before.Removal, before.Entry, before.Endpoints, before.Lost = e.Effect == membership.Removed, &e, endpoints, lost
	private.Keep(ctx, resp.Private, keptKey, before, diags)
	r.enter(ctx, e, plan, endpoints, resp)
}

// noteOf returns what a state has of a member.
func noteOf(m model) membership.Entry {
	e := membership.Entry{
		Name: m.Name.ValueString(), Learner: m.role == roleLearner, Adopter: m.adopts(),
		Votes: m.Role.ValueString() == string(roleVoter), Before: sideOf(m), ByProvider: m.byProvider(),
		HasRun: m.Version.ValueString() != "" || len(m.ClientURLs.Elements()) > 0,
	}
	e.ID, _ = membership.ParseMemberID(m.ID.ValueString()) // a bad ID of an edited state is that of no member
	e.Cluster, _ = membership.ParseClusterID(m.ClusterID.ValueString())
	return e
}

func sideOf(m model) *membership.Side {
	id := func(v types.String) string {
		if v.IsUnknown() {
			return membership.Unknown
		}
		return v.ValueString()
	}
	return &membership.Side{Node: id(configOf(m.Config).id), Machine: id(m.MachineID), PeerURLs: m.peers()}
}

// complete adds what the plan has of the member.
func (r *Resource) complete(e *membership.Entry, m model) {
	e.Name, e.Learner, e.Adopter, e.After, e.ByProvider = m.Name.ValueString(), m.role == roleLearner, m.adopts(), sideOf(m), m.byProvider()
	e.BeforeMachine = m.goal() == reconfigure.Added
	e.Unapplied = e.Unapplied || e.Before != nil && e.Before.Machine == "" && e.After.Machine == membership.Unknown
	start, known := m.start()
	if !known {
		return
	}
	e.Built, e.Initial, e.Imported = true, start.InitialMembers, start.Imported
	e.Peers = start.Peers
	end, err := time.Parse(time.RFC3339, start.WindowEnd)
	e.WindowOpen = err == nil && r.Backend.Run.Clock.Now().Before(end)
	if e.Cluster == 0 {
		e.Cluster, _ = membership.ParseClusterID(start.ClusterID)
	}
}

// enter hands the entry to the table of the plan, with what is known of the cluster,
// and prints what comes back.
func (r *Resource) enter(ctx context.Context, e membership.Entry, plan model, endpoints []string, resp *resource.ModifyPlanResponse) {
	var known membership.Known
	var snap membership.Snapshot
	holds := e.Effect == membership.Held
	c, err := r.Backend.Of(e.Cluster, endpoints, &resp.Diagnostics)
	asks := err == nil && !r.Backend.Unknown && (!holds || e.Readdressed || r.Backend.Table.Affects(e.Cluster))
	if asks {
		snap, err = c.CachedSnapshot(ctx, e.Cluster)
	}
	if asks && err == nil && (e.Cluster == 0 || e.Cluster == snap.ClusterID) {
		snap, _ = c.WithEvidence(ctx, snap) // as the turns
		known.Snapshot, e.Cluster = &snap, snap.ClusterID
		known.Turns, _ = c.OpenTurns(ctx, snap) // if it fails, they are read again before the removal
	}
	for _, lost := range membership.GivenUp(r.Backend.Table.Clusters()) {
		ends := lost.Unasked && lost.Cluster == e.Cluster
		if ends && !holds && r.Backend.FirstTime("lost "+e.Cluster.String()) {
			r.Backend.GiveUp(ctx, c, lost, false, &resp.Diagnostics)
		}
	}
	if known.Snapshot != nil && e.Effect == membership.Created {
		r.identify(ctx, &e, c, snap, plan, resp)
	} else if known.Snapshot != nil && e.Learner && r.isAdopted(ctx, c, e) {
		e.Effect = membership.Held
	}
	if e.Effect == membership.Removed && c != nil {
		c.CheckForgotten(ctx, e.Cluster, &resp.Diagnostics)
	}
	for _, b := range r.Backend.Table.Enter(e, r.awaited(ctx, e, known)) {
		switch t := text.PlanRule(b, snap); b.Code {
		case membership.EveryVoterRemoved, membership.AllNew:
			report.Warn(&resp.Diagnostics, t)
		default:
			report.Error(&resp.Diagnostics, t)
		}
	}
}

const (
	// awaitStep and awaitSteps limit how long a plan waits for its other resources.
	awaitStep  = 500 * time.Millisecond
	awaitSteps = 20
)

// awaited returns what is known once no other resource of the plan is awaited. Terraform plans
// the members at the same time, but with -parallelism=1: the wait has an end.
func (r *Resource) awaited(ctx context.Context, e membership.Entry, known membership.Known) membership.Known {
	table := &r.Backend.Table
	if table.Applies() {
		return known
	}
	now, settled := table.Settled(e, known)
	if !settled {
		table.Note(e.Waiting())
	}
	for step := 0; !settled && step < awaitSteps && r.Backend.Run.Clock.Sleep(ctx, awaitStep) == nil; step++ {
		now, settled = table.Settled(e, known)
	}
	now.Awaited = true
	return now
}

// identify adds which member of the cluster the new one would be, once it is known
// whose it is. It refuses a learner_id that no member has, before a machine boots.
func (r *Resource) identify(ctx context.Context, e *membership.Entry, c *backend.Cluster, snap membership.Snapshot, plan model, resp *resource.ModifyPlanResponse) {
	id, err := membership.ParseMemberID(plan.learnerID.ValueString())
	if _, listed := snap.Member(id); err == nil && !listed && snap.Linearizable {
		report.ErrorAt(&resp.Diagnostics, path.Root("learner_id"), text.New("No member has the learner_id",
			"learner_id is %s, and cluster %s has no member with that ID. Its members: %s. Give the id of the etcd_learner to promote, or leave learner_id out."+text.DestroyInstead,
			id, snap.ClusterID, text.Members(snap)))
	}
	unknown := e.After.Node == membership.Unknown || plan.Name.IsUnknown() || attribute.SomeUnknown(plan.PeerURLs)
	if unknown || plan.adopts() {
		return
	}
	if found, err := c.Identify(ctx, plan.toRequest(), snap); err == nil && found.Step == membership.StepRefuse {
		e.Found = found
	}
}

// isAdopted reports whether an etcd_member has adopted the learner. Then the learner
// does not remove it.
func (r *Resource) isAdopted(ctx context.Context, c *backend.Cluster, e membership.Entry) bool {
	owners, err := cluster.Owners(ctx, c.Cluster.Records(e.Cluster), e.ID)
	own := "learner:" + e.Name
	return err == nil && slices.ContainsFunc(owners, func(o string) bool { return o != own && o != e.Before.Node })
}

// planComputed plans what the apply sets: no environment for a member whose node has it, and
// what a promotion of a learner changes, by its arguments or because a voter is lost.
func (m *model) planComputed(state model, before kept, diags *diag.Diagnostics) {
	if !m.Config.IsNull() && m.InitialCluster.IsUnknown() { // an imported member keeps what it has until it is replaced
		m.Environment, m.InitialCluster = types.MapNull(types.StringType), types.StringNull()
	}
	if before.Moved != "" || before.Imported { // neither alone plans the update that ends it
		m.Version = types.StringUnknown()
	}
	if state.Role.ValueString() != string(roleLearner) {
		return
	}
	wanted := m.role == roleVoter || m.promote.ValueBool()
	if evidence := before.Failover.Evidence; !wanted && evidence != "" && m.failover.ValueBool() {
		report.Warn(diags, text.New("Standby "+state.Name.ValueString()+" is promoted by this plan",
			"%s A promotion cannot be undone. If the voter is only rebooting, wait and plan again.", evidence))
		wanted = true
	}
	if wanted {
		m.Role, m.Version, m.ClientURLs = types.StringUnknown(), types.StringUnknown(), types.SetUnknown(types.StringType)
	}
}

// NoteOf returns what the state of a resource has of a member. Terraform reads the state
// of each object before it plans the object, also of a tainted one without a refresh.
func NoteOf(ctx context.Context, typ string, state *tfprotov6.RawState) (e membership.Entry, ok bool) {
	r, ok := map[string]role{roleVoter.typeName("etcd"): roleVoter, roleLearner.typeName("etcd"): roleLearner}[typ]
	if !ok {
		return e, false
	}
	var of resource.SchemaResponse
	newResource(r).Schema(ctx, resource.SchemaRequest{}, &of)
	raw, err := state.UnmarshalWithOpts(of.Schema.Type().TerraformType(ctx), tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
	})
	if err != nil {
		return e, false // the framework reports it
	}
	var diags diag.Diagnostics
	e = noteOf(r.model(ctx, tfsdk.State{Schema: of.Schema, Raw: raw}, &diags))
	return e, !diags.HasError() && e.ID != 0 && e.Cluster != 0
}
