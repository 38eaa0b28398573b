// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	all := commonAttributes()
	if r.role == roleLearner {
		all["wait_until"] = waitUntil("`announced`: the learner is added, which is the first phase of a two-phase add. `started`: its process runs. `caught_up`: it has caught up with the leader. Default: `caught_up`.",
			waitAnnounced, waitStarted, waitCaughtUp)
		all["promote"] = attribute.DefaultFlag("Whether to promote the learner in place once it has caught up. A promotion cannot be undone: a change from `true` to `false` replaces the member.",
			boolplanmodifier.RequiresReplaceIf(demotion, "true to false replaces a promoted learner", "true to false replaces a promoted learner"))
		all["failover"] = attribute.DefaultFlag("Whether the learner is a standby. If a voting member is unreachable for Terraform and for the leader, the plan shows the promotion of the learner, and the apply " +
			"promotes it. With three voting members the failed one must be removed first: also set `replace_unreachable_after` of the `etcd_cluster`.")
		resp.Schema = schema.Schema{Attributes: all, MarkdownDescription: "Adds a learner to a cluster: a member that receives all data and does not vote."}
		return
	}
	all["wait_until"] = waitUntil("`announced`: the member is added. `started`: its process runs. `voting`: it is promoted and responds. "+
		"With `announced` or `started` the member stays a learner, and the next apply promotes it. Default: `voting`.", waitAnnounced, waitStarted, waitVoting)
	all["learner_id"] = schema.StringAttribute{
		Optional: true, Validators: []validator.String{attribute.MemberID}, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIf(anotherLearner,
			"another learner replaces the member; to leave it out does not", "another learner replaces the member; to leave it out does not")},
		MarkdownDescription: "`id` of an [`etcd_learner`](learner.md) to adopt and promote, for a two-phase add: learner, machine, member. Another ID replaces the member. After the promotion " +
			"you can destroy the `etcd_learner`, which does not change the cluster, and remove `learner_id`. Default: none.",
	}
	resp.Schema = schema.Schema{Attributes: all, MarkdownDescription: "Adds a voting member to a cluster when its machine runs, and removes it from the cluster before its machine is destroyed."}
}

func waitUntil(description string, stages ...string) schema.Attribute {
	return attribute.OptionalText("Stage that the creation waits for. "+description, stringvalidator.OneOf(stages...))
}

const setNode = "Set config to a node of an etcd_cluster, such as config = etcd_cluster.this.node[each.key]."

// isNode refuses a config that a user writes with what is not a node. The nodes of
// etcd_cluster are.
type isNode struct{ attribute.Described }

// ValidateObject implements [validator.Object].
func (isNode) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	of, at := configOf(req.ConfigValue), req.Path.AtName("start")
	attribute.Advertised.ValidateSet(ctx, validator.SetRequest{Path: req.Path.AtName("peer_urls"), ConfigValue: of.peerURLs}, (*validator.SetResponse)(resp))
	s, err := node.StartOf(of.start)
	if err != nil {
		report.ErrorAt(&resp.Diagnostics, at, text.New("Invalid start of a node", "config.start is not what etcd_cluster writes: %s. "+setNode, err.Error()))
	}
	for _, u := range slices.Concat(s.Endpoints, s.Peers) {
		if _, err := connection.ParseEndpoint(u, false); err != nil {
			report.ErrorAt(&resp.Diagnostics, at, text.URLIn("config.start", err))
		}
	}
}

// commonAttributes are the attributes that members and learners share: those that identify
// the member and its cluster, and those that the cluster sets.
func commonAttributes() map[string]schema.Attribute {
	known := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"config": schema.ObjectAttribute{
			AttributeTypes: node.ConfigTypes, Optional: true, Validators: []validator.Object{isNode{"must be a node of an etcd_cluster"}}, PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(anotherNode, "another node replaces it", "another node replaces it")},
			MarkdownDescription: "Node of an [`etcd_cluster`](cluster.md): `config = etcd_cluster.this.node[each.key]`. A node with another ID replaces the member. Default: none, for a process that Terraform does not configure.",
		},
		"name": schema.StringAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.String{planName{"null if config has the name; another name replaces it"}}, Validators: []validator.String{attribute.Name},
			MarkdownDescription: "Name of the member, unique in the cluster. Another name replaces the member. Required without `config`, and not allowed with it: read `config.name` then. Default: null, if `config` has the name.",
		},
		"peer_urls": schema.SetAttribute{
			ElementType: types.StringType, Optional: true, Computed: true, PlanModifiers: []planmodifier.Set{planPeerURLs{"null if config has the peer URLs"}},
			Validators: []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised},
			MarkdownDescription: "Peer URLs of the member: scheme, host and port. A change updates them in place: restart the process of the member with the new URLs right after the apply. " +
				"No other member's peer URLs can change before that. A plan that changes the URLs of two members is refused. Required without `config`, and if `config` has none because the machine sets them itself. Not allowed if `config` has them: read `config.peer_urls` then. Default: null, if `config` has them.",
		},
		"machine_id": schema.StringAttribute{
			Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIf(anotherMachine, "a new machine replaces the member", "a new machine replaces the member")},
			MarkdownDescription: "ID of the machine that runs the member. Another machine replaces the member: it is removed before the machine is destroyed, and added again when the new one runs. Default: none, with a warning if `config` is set.",
		},
		"endpoints": attribute.OptionalEndpoints("Client URLs of the cluster, in addition to those of `config`. A change changes nothing in the cluster. Default: without `config`, the provider's `endpoints`."),
		"timeouts": attribute.Timeouts(map[string]string{
			"create": "Timeout for adding the member, more than zero. Default: `10m`.",
			"update": "Timeout for promoting the member or updating its peer URLs, more than zero. Default: `10m`.",
			"delete": "Timeout for removing the member, more than zero. Default: `5m`.",
		}),

		"id":          schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the member in hexadecimal, as etcdctl prints it.", PlanModifiers: known},
		"cluster_id":  schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the cluster in hexadecimal.", PlanModifiers: known},
		"role":        schema.StringAttribute{Computed: true, MarkdownDescription: "`voter` or `learner`.", PlanModifiers: known},
		"client_urls": schema.SetAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Client URLs that the member advertises.", PlanModifiers: []planmodifier.Set{setplanmodifier.UseStateForUnknown()}},
		"version":     schema.StringAttribute{Computed: true, MarkdownDescription: "Version of etcd that the member runs. Null until it has been seen.", PlanModifiers: known},
		"environment": schema.MapAttribute{
			ElementType: types.StringType, Computed: true, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Variables to start the member's process with, as they were right after the member was added, as `etcdctl member add` prints them. Null if `config` is set: the node has them.",
		},
		"initial_cluster": schema.StringAttribute{Computed: true, MarkdownDescription: "`ETCD_INITIAL_CLUSTER` of `environment`. Null if `environment` is null.", PlanModifiers: known},
	}
}

// check refuses a configuration that omits the name or the peer URLs, or gives them twice:
// a node, which may omit the peer URLs, or a name and peer URLs identify a member. Unknown
// values pass.
func (m model) check(diags *diag.Diagnostics) {
	c := configOf(m.Config)
	switch {
	case m.Config.IsUnknown():
	case m.Config.IsNull() && m.sameName:
		report.ErrorOn(diags, "config", text.New("Neither config nor name",
			setNode+" For a process that something else starts, set name and peer_urls instead."))
	case m.Config.IsNull() && m.sameURLs:
		report.ErrorOn(diags, "peer_urls", text.New("Missing peer_urls",
			"name = %q is set without peer_urls. Give the URLs at which the other members reach it, such as [\"https://10.0.0.1:2380\"]. "+
				"If it has a node of an etcd_cluster, set config instead, such as config = etcd_cluster.this.node[each.key].", m.Name.ValueString()))
	case m.Config.IsNull():
	case !m.sameName && !m.Name.IsUnknown():
		report.ErrorOn(diags, "name", text.New("Both config and name", "name = %q is set in addition to config, and the node has a name. Leave name out.", m.Name.ValueString()))
	case c.peerURLs.IsUnknown() || m.PeerURLs.IsUnknown():
	case m.PeerURLs.IsNull():
		report.ErrorOn(diags, "peer_urls", text.New("Missing peer_urls",
			"The node of %s has no peer URLs. Give peer_urls here, from an attribute of the machine, such as [\"https://${example_vm.node[each.key].ip}:2380\"]. "+
				"If the address is known before the machine, give it to members of the etcd_cluster instead.", c.name.ValueString()))
	case !c.peerURLs.IsNull() && !m.sameURLs:
		report.ErrorOn(diags, "peer_urls", text.New("Peer URLs in two places",
			"peer_urls is set, and the node of %s has peer URLs as well. Leave peer_urls out here. "+
				"Where only the machine knows its address, leave it out in members of the etcd_cluster instead.", c.name.ValueString()))
	}
}

// anotherNode replaces a member that gets another node. A node for an imported member, or
// none any more, does not.
func anotherNode(_ context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
	was, now := configOf(req.StateValue), configOf(req.PlanValue)
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.PlanValue.IsNull() && !was.id.Equal(now.id)
}

// anotherMachine replaces a member that gets another machine. The ID of a machine that
// exists can be given to a member later.
func anotherMachine(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = req.PlanValue.IsUnknown() || !req.StateValue.IsNull() && !req.PlanValue.IsNull()
}

// configIn returns config of a configuration or a state.
func configIn(ctx context.Context, from attribute.Source, diags *diag.Diagnostics) (config types.Object) {
	diags.Append(from.GetAttribute(ctx, path.Root("config"), &config)...)
	return config
}

// planName plans no name if the node has it, but the state does not have one: config
// shows it. Another name means another member.
type planName struct{ attribute.Described }

func (planName) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	config := configIn(ctx, req.Config, &resp.Diagnostics)
	was, now := req.StateValue, req.ConfigValue
	if !config.IsNull() {
		now = configOf(config).name
	}
	if resp.PlanValue = req.ConfigValue; !was.IsNull() {
		resp.PlanValue = now
	} else if !req.State.Raw.IsNull() {
		was = configOf(configIn(ctx, req.State, &resp.Diagnostics)).name
	}
	// An imported member that has not published its name has none in the state.
	resp.RequiresReplace = !was.IsNull() && !was.Equal(now)
}

// planPeerURLs plans no peer URLs if the node has them and the state does not have others,
// for example after an import or a change with etcdctl.
type planPeerURLs struct{ attribute.Described }

func (planPeerURLs) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	config := configIn(ctx, req.Config, &resp.Diagnostics)
	switch urls := configOf(config).peerURLs; {
	case !req.ConfigValue.IsNull():
		resp.PlanValue = req.ConfigValue
	case !config.IsUnknown() && !urls.IsNull() && req.StateValue.IsNull():
		resp.PlanValue = types.SetNull(types.StringType)
	case !urls.IsNull():
		resp.PlanValue = urls
	}
	// The framework compares the URLs of two spellings only after Create, Read and Update.
	if attribute.SameURLs(req.StateValue, resp.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// demotion replaces a promoted learner, because a promotion cannot be undone.
func demotion(ctx context.Context, req planmodifier.BoolRequest, resp *boolplanmodifier.RequiresReplaceIfFuncResponse) {
	var role types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	resp.RequiresReplace = req.StateValue.ValueBool() && !req.PlanValue.IsUnknown() && role.ValueString() == string(roleVoter)
}

// anotherLearner requires a replacement for another learner_id. The origin of a member
// no longer matters once it has joined, so learner_id may be added or left out.
func anotherLearner(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.PlanValue.IsNull()
}
