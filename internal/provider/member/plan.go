// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"encoding/json"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
)

type fwDiagnostics = fwdiag.Diagnostics

// legKey is where the plan leaves word for Delete: Terraform does not tell it
// whether the member goes for good or makes room for its successor. priorKey is
// where the first call of a plan leaves what the state holds, for the second one:
// for a replacement Terraform plans again, without the state.
const (
	legKey   = "leg"
	priorKey = "prior"
)

// leg is what a Delete is part of. They are JSON, as private state must be.
type leg string

const (
	legRemoval leg = `"removal"` // planned with nothing to follow
	legOther   leg = `"other"`
	legInTurn  leg = `"in turn"` // if a replacement, then one of several that take turns
	legFailed  leg = `"failed"`  // if a replacement, then of a member that has failed
	// legAlone is planned for a new member whose configuration stays. Delete gets
	// it for a tainted one only, which Terraform plans as if it were new.
	legAlone leg = `"alone"`
)

// named is the argument that names where the member is; see [backend.Naming].
const named = "peer_urls"

// naming is [backend.Naming] for a plan. One that ends the resource has no
// configuration.
func naming(ctx context.Context, req resource.ModifyPlanRequest) context.Context {
	if req.Plan.Raw.IsNull() {
		return backend.Named(ctx, req.Private)
	}
	return backend.Naming(ctx, req.Plan, named)
}

type privateState interface {
	GetKey(context.Context, string) ([]byte, fwdiag.Diagnostics)
}

// legOf reads what the plan left. A pure removal is always planned, so anything
// else is half a replacement, which is the stricter of the two.
func legOf(ctx context.Context, private privateState) (leg, fwdiag.Diagnostics) {
	left, diags := private.GetKey(ctx, legKey)
	return leg(left), diags
}

// prior is what the state holds of a member that is replaced.
type prior struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Config  string `json:"config"`
	Machine string `json:"machine"`
	HasRun  bool   `json:"has_run"`
}

// priorOf reads what the first call of the plan left. ok is false if there was
// none: then nothing is replaced.
func priorOf(ctx context.Context, private privateState) (p prior, ok bool, diags fwdiag.Diagnostics) {
	raw, diags := private.GetKey(ctx, priorKey)
	return p, len(raw) > 0 && json.Unmarshal(raw, &p) == nil, diags
}

// planned is what the guard looks at, of the state or of the plan.
type planned struct {
	ID, ClusterID, Name, Config, Machine, LearnerID, Version types.String
	Endpoints                                                types.List
	ClientURLs                                               types.Set
}

func (p *planned) read(ctx context.Context, want string, from interface {
	GetAttribute(context.Context, path.Path, any) fwdiag.Diagnostics
}) (diags fwdiag.Diagnostics) {
	var config types.Object
	attributes := map[string]any{
		"id": &p.ID, "cluster_id": &p.ClusterID, "name": &p.Name, "config": &config, "machine_id": &p.Machine, "version": &p.Version,
		"endpoints": &p.Endpoints, "client_urls": &p.ClientURLs,
	}
	if want == roleVoter {
		attributes["learner_id"] = &p.LearnerID
	}
	for attribute, to := range attributes {
		diags.Append(from.GetAttribute(ctx, path.Root(attribute), to)...)
	}
	p.Config = memberconfig.MemberOf(config).ID
	return diags
}

func (p planned) prior() prior {
	return prior{
		ID: p.ID.ValueString(), Name: p.Name.ValueString(), Config: p.Config.ValueString(), Machine: p.Machine.ValueString(),
		HasRun: p.Version.ValueString() != "" || len(p.ClientURLs.Elements()) > 0,
	}
}

// key is what the member is known by, whatever resource stands for it: its
// configuration, or its name and where its cluster is if it has none; "" while
// that is not known.
func (p planned) key() string {
	switch {
	case p.Config.IsUnknown() || p.Name.IsUnknown():
		return ""
	case p.Config.ValueString() != "":
		return p.Config.ValueString()
	case attribute.SomeUnknown(p.Endpoints):
		return ""
	default:
		return "name:" + p.Name.ValueString() + p.Endpoints.String()
	}
}

func holder(want string, p planned) backend.Holder {
	switch {
	case want == roleLearner:
		return backend.LearnerHolder
	case !p.LearnerID.IsNull():
		return backend.AdopterHolder
	default:
		return backend.MemberHolder
	}
}

// modifyPlan leaves word for Delete, refuses what the guard of the plan refuses,
// and plans the promotion of a member that has no vote yet.
func modifyPlan(ctx context.Context, b *backend.Backend, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if b != nil && !req.Plan.Raw.IsNull() {
		var name types.String
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("name"), &name)...)
		given := argumentsOf(ctx, req.Config, &resp.Diagnostics)
		given.check(&resp.Diagnostics)
		given.planEnvironment(ctx, req, resp)
		defer b.Chains().Member(name.ValueString())
	}
	g := newGuard(ctx, b, want, req, resp)
	g.check(ctx)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, legKey, []byte(g.leg(ctx)))...)
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	was, err := json.Marshal(g.was)
	if err != nil {
		resp.Diagnostics.AddError("Cannot keep what the state holds", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, priorKey, was)...)
	planVote(ctx, want, req, resp)
}

// leg is the word for Delete.
func (g *guard) leg(ctx context.Context) leg {
	switch g.step {
	case removed:
		return legRemoval
	case created:
		if g.now.key() != "" {
			return legAlone
		}
	case successor:
		if g.b == nil || g.b.Unknown {
			break
		}
		if g.b.Plan().HasFailed(g.was.Config) {
			return legFailed
		}
		if at := g.guardOf(ctx); at != nil && at.TakesTurns(g.was.Name) {
			return legInTurn
		}
	}
	return legOther
}

// planVote shows in the plan that a learner is to be promoted.
func planVote(ctx context.Context, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var role types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	if want == roleLearner {
		var promote types.Bool
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("promote"), &promote)...)
		if !promote.ValueBool() {
			return
		}
	}
	if resp.Diagnostics.HasError() || role.ValueString() != roleLearner {
		return
	}
	planPromotion(ctx, resp)
}

// planPromotion leaves open what a vote changes.
func planPromotion(ctx context.Context, resp *resource.ModifyPlanResponse) {
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("role"), types.StringUnknown())...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("client_urls"), types.SetUnknown(types.StringType))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("version"), types.StringUnknown())...)
}

// demotion replaces a learner that was promoted: a vote cannot be taken back.
type demotion struct{}

func (demotion) Description(context.Context) string {
	return "true to false replaces a promoted learner"
}

func (d demotion) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

func (demotion) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if req.State.Raw.IsNull() || req.PlanValue.IsUnknown() || req.PlanValue.ValueBool() || !req.StateValue.ValueBool() {
		return
	}
	var role types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	resp.RequiresReplace = role.ValueString() == roleVoter
}

// refuseDelete refuses what a plan could not see: that a member whose
// configuration stays is tainted, or that one which had failed responds again.
func (m model) refuseDelete(ctx context.Context, c *backend.Cluster, leg leg, id membership.MemberID, cluster membership.ClusterID) *diag.Text {
	if leg != legAlone && leg != legFailed {
		return nil
	}
	snap, err := c.View(ctx, cluster)
	it, listed := snap.Member(id)
	switch {
	case leg == legFailed && err == nil && snap.Alive(id):
		t := diag.MemberBack(m.Name.ValueString())
		return &t
	case leg == legAlone && (err != nil || listed && len(it.ClientURLs) > 0):
		t := diag.MemberTainted(m.Name.ValueString())
		return &t
	}
	return nil
}
