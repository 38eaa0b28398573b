// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/duration"
	variables "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberurl"
)

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	fixed := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	replaceSet := []planmodifier.Set{memberurl.SamePlan(), setplanmodifier.RequiresReplace()}
	const others = "a change replaces it, unless the machine fills in all URLs from now on"
	replaceURLs := []planmodifier.Set{memberurl.SamePlan(), setplanmodifier.RequiresReplaceIf(toOthers, others, others)}
	boot := bootstrap.InputAttribute()
	boot.PlanModifiers = append(boot.PlanModifiers, keepBootstrap{})
	boot.Validators = append(boot.Validators, variables.InBootstrap())
	resp.Schema = schema.Schema{
		MarkdownDescription: "How a member's process starts: the environment and the join script that go into the machine's user data. " +
			"It is decided once and frozen, so that a later join never re-renders a machine, and it touches no membership when it is created.\n\n" +
			"!> **Warning** Run `join_script` before each start of etcd. With `environment` alone etcd itself decides how it starts: a member whose data was lost starts empty " +
			"under its old identity if no peer answers, and acknowledged writes can be lost.\n\n" +
			"A name among the founders of a bootstrap that is not complete is a founder; everyone else joins the cluster that exists. " +
			"Its place in the graph is before the machine; [`etcd_member`](member.md) stands after it. " +
			"Destroying it removes what was added for it and is still in the cluster: a learner, or a voting member that is dead. A voting member that lives stays in the cluster, with a warning; if another configuration follows, the old member must end first.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Identifies this configuration; give it to `config_id` of `etcd_member` or `etcd_learner`. Opaque.",
				PlanModifiers:       fixed,
			},
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "The member's name, unique in the cluster (`ETCD_NAME`): letters, digits and `. _ : @ % + ~ -`. A change replaces the configuration, and with it the machine and the member.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace(), memberurl.NewName()},
				Validators:          []validator.String{memberurl.NameValidator()},
			},
			"peer_urls": schema.SetAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "The URLs at which the other members reach it (`ETCD_INITIAL_ADVERTISE_PEER_URLS`): scheme, host and port. " +
					"Left out where the address is known only on the machine, which then sets the variables itself.",
				PlanModifiers: replaceURLs,
				Validators:    []validator.Set{setvalidator.SizeAtLeast(1), memberurl.Advertised()},
			},
			"client_urls": schema.SetAttribute{
				ElementType:         types.StringType,
				Optional:            true,
				MarkdownDescription: "The URLs at which clients reach it (`ETCD_ADVERTISE_CLIENT_URLS`).",
				PlanModifiers:       replaceURLs,
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), memberurl.Advertised()},
			},
			"listen_peer_urls": schema.SetAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "What the process binds to for its peers (`ETCD_LISTEN_PEER_URLS`). Default: `peer_urls`, with the wildcard address in place of a host name. " +
					"Host names other than `localhost` are refused, because etcd listens on addresses only.",
				PlanModifiers: replaceSet,
				Validators:    []validator.Set{setvalidator.SizeAtLeast(1), memberurl.Listened()},
			},
			"listen_client_urls": schema.SetAttribute{
				ElementType:         types.StringType,
				Optional:            true,
				MarkdownDescription: "What the process binds to for clients (`ETCD_LISTEN_CLIENT_URLS`). By default as `client_urls`, likewise.",
				PlanModifiers:       replaceSet,
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), memberurl.Listened()},
			},
			"bootstrap": boot,
			"join_peer_urls": schema.SetAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "Peer URLs of members that the join script asks, beside those that the cluster lists when the configuration is made. " +
					"For members whose addresses are not known beforehand, where the provider has no endpoints: such as the `peer_urls` of the `members` of an " +
					"`etcd_discovery_token`. A member that is made together with its cluster needs none: it asks the founders' registry. Frozen at creation: a later change plans nothing.",
				PlanModifiers: []planmodifier.Set{keepSet{}},
				Validators:    []validator.Set{memberurl.Advertised()},
			},
			"triggers_replace": schema.DynamicAttribute{
				Optional: true,
				MarkdownDescription: "Any value; a change of it replaces the configuration, the machine that uses it, and the member. " +
					"Put here what makes the machine be built anew: the image, a version.",
				PlanModifiers: []planmodifier.Dynamic{dynamicplanmodifier.RequiresReplaceIf(otherThanNothing,
					"a change replaces it, unless it had none before", "a change replaces it, unless it had none before")},
			},
			"replace_unreachable_after": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How long the member must have been silent before a plan proposes to replace it with its machine, such as `10m`; longer than a reboot takes. " +
					"Two views must agree, this run's own and the leader's, and the rest must have a quorum; of several lost members one is replaced per apply. " +
					"How long it has been silent is remembered where a refresh is saved (an apply, or `-refresh-only`); what is missing is waited for during the refresh. " +
					"Unset, nothing is proposed: a warning names the command to type.",
				Validators: []validator.String{duration.Validator()},
			},
			"founder": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether this member forms the cluster with others (true) or joins one that exists (false). Decided at creation.",
				PlanModifiers:       []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()},
			},
			"environment": schema.MapAttribute{
				ElementType: types.StringType,
				Computed:    true,
				MarkdownDescription: "The `ETCD_*` variables of the process: name, addresses, initial state and bootstrap. Those that begin with `ETCD_JOIN_` are for `join_script` only; etcd does not know them. " +
					"The environment by itself starts a joiner only if the members do not change before it starts.",
				PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
			},
			"initial_cluster": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "For a joiner, the members at the time of creation and itself (`ETCD_INITIAL_CLUSTER`); null for a founder by discovery.",
				PlanModifiers:       fixed,
			},
			"join_script": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "A POSIX shell script (needs `curl`) to run before every start of etcd, with the environment loaded; the same text for every member. It prints `ETCD_*` assignments that " +
					"override the environment on standard output, and its reasons on standard error. Exit status 0: start etcd. 75: not yet, run me again. " +
					"78: this identity has run before and its data is gone, or the member was removed: never start.",
				PlanModifiers: fixed,
			},
			"status": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "What the cluster says of it: `pending` (not announced yet), `announced`, `member`, `unreachable` (a member that does not answer), `failed` (one that has been silent for " +
					"`replace_unreachable_after`; the plan replaces it), `removed`, `retired` (somebody else removed it after it had run, so that it cannot come back: the plan replaces it), or `stale` " +
					"(not started yet, and its environment cannot start any more because the members have changed since; the join script can. A founder without which the cluster was formed is stale, too: once the bootstrap is complete the plan makes a joiner of it).",
				PlanModifiers: fixed,
			},
		},
	}
}

// toOthers lets an imported configuration, which has the URLs that the member
// list shows, be one whose machine fills them in: neither peer_urls nor
// client_urls are given.
func toOthers(ctx context.Context, req planmodifier.SetRequest, resp *setplanmodifier.RequiresReplaceIfFuncResponse) {
	var peers, clients types.Set
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("peer_urls"), &peers)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("client_urls"), &clients)...)
	resp.RequiresReplace = !peers.IsNull() || !clients.IsNull()
}

// otherThanNothing lets an imported configuration be given its trigger.
func otherThanNothing(_ context.Context, req planmodifier.DynamicRequest, resp *dynamicplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull()
}
