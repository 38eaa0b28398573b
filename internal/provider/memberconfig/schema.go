// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	variables "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
)

const description = "How a member's process starts: the environment and the join script that go into the machine's user data. " +
	"It is decided once and frozen, so that a later join never re-renders a machine, and it touches no membership when it is created.\n\n" +
	"!> **Warning** Run the join script (`join_script_base64gzip`) before each start of etcd. With `environment` alone etcd itself decides how it starts: a member whose data was lost starts empty " +
	"under its old identity if no peer answers, and acknowledged writes can be lost.\n\n" +
	"A name among the founders of a bootstrap that is not complete is a founder; everyone else joins the cluster that exists. " +
	"Its place in the graph is before the machine; [`etcd_member`](member.md) stands after it. " +
	"Destroying it removes what was added for it and is still in the cluster: a learner, or a voting member that is dead. A voting member that lives stays in the cluster, with a warning; if another configuration follows, the old member must end first."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: nameAttributes()}
	for _, group := range []map[string]schema.Attribute{advertisedAttributes(), listenAttributes(), bootstrapAttributes(), computedAttributes(), machineAttributes()} {
		maps.Copy(resp.Schema.Attributes, group)
	}
}

// nameAttributes are the arguments that say which member it is.
func nameAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "The member's name, unique in the cluster (`ETCD_NAME`): letters, digits and `. _ : @ % + ~ -`. A change replaces the configuration, and with it the machine and the member.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace(), attribute.NewName()},
			Validators:          []validator.String{attribute.Name()},
		},
		"address": addressAttribute(),
		"scheme":  schemeAttribute(),
	}
}

// advertisedAttributes are the URLs at which others reach the member.
func advertisedAttributes() map[string]schema.Attribute {
	const others = "a change replaces it, unless the machine fills in all URLs from now on"
	replaceURLs := func(urls func(where) types.Set) []planmodifier.Set {
		derived := derived{"follows from the address or the peer URLs if it is not given", urls}
		return []planmodifier.Set{derived, attribute.SameURLs(), setplanmodifier.RequiresReplaceIf(toOthers, others, others)}
	}
	return map[string]schema.Attribute{
		"peer_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			Computed:    true,
			MarkdownDescription: "The URLs at which the other members reach it (`ETCD_INITIAL_ADVERTISE_PEER_URLS`): scheme, host and port. Default: the URL that follows from `address`, if that is given. " +
				"Leave out both if the address is known only on the machine, which then sets the variables itself.",
			PlanModifiers: replaceURLs(where.peers),
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
		},
		"client_urls": schema.SetAttribute{
			ElementType:         types.StringType,
			Optional:            true,
			Computed:            true,
			MarkdownDescription: "The URLs at which clients reach it (`ETCD_ADVERTISE_CLIENT_URLS`). Default: the schemes and hosts of `peer_urls` with port 2379, if there are `peer_urls`.",
			PlanModifiers:       replaceURLs(where.clients),
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
		},
	}
}

// listenAttributes are the URLs that the member's process binds to.
func listenAttributes() map[string]schema.Attribute {
	replaceSet := []planmodifier.Set{attribute.SameURLs(), setplanmodifier.RequiresReplace()}
	return map[string]schema.Attribute{
		"listen_peer_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "What the process binds to for its peers (`ETCD_LISTEN_PEER_URLS`). Default: `peer_urls`, with the wildcard address in place of a host name. " +
				"Host names other than `localhost` are refused, because etcd listens on addresses only.",
			PlanModifiers: replaceSet,
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Listened()},
		},
		"listen_client_urls": schema.SetAttribute{
			ElementType:         types.StringType,
			Optional:            true,
			MarkdownDescription: "What the process binds to for clients (`ETCD_LISTEN_CLIENT_URLS`). Default: `client_urls`, with the wildcard address in place of a host name.",
			PlanModifiers:       replaceSet,
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), attribute.Listened()},
		},
	}
}

// bootstrapAttributes are the arguments that say how the member comes into its cluster,
// and when another one takes its place.
func bootstrapAttributes() map[string]schema.Attribute {
	boot := bootstrap.InputAttribute()
	boot.PlanModifiers = append(boot.PlanModifiers, keepBootstrap{"stays as it was at creation, unless a founder that never formed a cluster gets another bootstrap"})
	boot.Validators = append(boot.Validators, variables.InBootstrap())
	return map[string]schema.Attribute{
		"bootstrap": boot,
		"join_peer_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "Peer URLs of members that the join script asks, in addition to those that the cluster lists when the configuration is made. Default: none. " +
				"For members whose addresses are not known beforehand, where the provider has no endpoints: such as the `peer_urls` of the `members` of an " +
				"`etcd_discovery_token`. A member that is made together with its cluster needs none: it asks the founders' registry. Frozen at creation: a later change plans nothing.",
			PlanModifiers: []planmodifier.Set{keepSet{"stays as it was at creation"}},
			Validators:    []validator.Set{attribute.Advertised()},
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
				"Default: none. Then nothing is proposed, and a warning names the command to type.",
			Validators: []validator.String{attribute.Duration()},
		},
	}
}

// computedAttributes are the attributes that are computed at creation, and the status.
func computedAttributes() map[string]schema.Attribute {
	fixed := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "Identifies this configuration. `etcd_member` and `etcd_learner` take it with the whole resource, in their argument `config`.",
			PlanModifiers:       fixed,
		},
		"founder": schema.BoolAttribute{
			Computed:            true,
			MarkdownDescription: "Whether this member forms the cluster with others (true) or joins one that exists (false). Decided at creation.",
			PlanModifiers:       []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()},
		},
		"founders": schema.Int64Attribute{
			Computed: true,
			MarkdownDescription: "How many members form the cluster together, of a member that is configured before the cluster exists; 0 if the bootstrap does not say. " +
				"Null if the cluster existed when the configuration was created, and after an import.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
		"status": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "What the cluster says of it: `pending` (not announced yet), `announced`, `member`, `unreachable` (a member that does not answer), `failed` (one that has been silent for " +
				"`replace_unreachable_after`; the plan replaces it), `removed`, `retired` (somebody else removed it after it had run, so that it cannot come back: the plan replaces it), or `stale` " +
				"(not started yet, and its environment cannot start any more because the members have changed since; the join script can. A founder without which the cluster was formed is stale, too: once the bootstrap is complete the plan makes a joiner of it).",
			PlanModifiers: fixed,
		},
	}
}

// machineAttributes are the attributes that user data is made of: computed at
// creation, and never again.
func machineAttributes() map[string]schema.Attribute {
	fixed := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"environment": schema.MapAttribute{
			ElementType: types.StringType,
			Computed:    true,
			MarkdownDescription: "The `ETCD_*` variables of the process: name, addresses, initial state and bootstrap. Those that begin with `ETCD_JOIN_` are for the join script only; etcd does not know them. " +
				"The environment by itself starts a joiner only if the members do not change before it starts.",
			PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		},
		"initial_cluster": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "For a joiner, the members at the time of creation and itself (`ETCD_INITIAL_CLUSTER`); null for a founder by discovery.",
			PlanModifiers:       fixed,
		},
		"join_script_base64gzip": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "A POSIX shell script (needs `curl`) to run before every start of etcd, with the environment loaded. That of a member whose `bootstrap` is a discovery has in addition what asks the discovery cluster. " +
				"It is compressed by gzip and encoded in base64, so that a plan stays readable: `encoding: gz+b64` in `write_files` of cloud-init, `compression: gzip` with " +
				"`source: data:;base64,…` in Butane, or `base64 -d | gunzip` in a shell turn it back. It is computed once, at creation, and stays as it is with another version of the provider. It prints `ETCD_*` assignments that " +
				"override the environment on standard output, and its reasons on standard error. Exit status 0: start etcd. 75: not yet, run me again. " +
				"78: this identity has run before and its data is gone, or the member was removed: never start.",
			PlanModifiers: fixed,
		},
		"user_data_format": schema.Int64Attribute{
			Computed: true,
			MarkdownDescription: "Format in which [`cloud_config`](../functions/cloud_config.md) and [`ignition`](../functions/ignition.md) write the machine's user data. " +
				"It is the newest format when the configuration is created and does not change with another version of the provider, so that the user data of an existing machine stays the same.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
	}
}

// toOthers lets an imported configuration, which has the URLs that the member
// list shows, be one whose machine fills them in: neither address nor peer_urls
// nor client_urls are given.
func toOthers(ctx context.Context, req planmodifier.SetRequest, resp *setplanmodifier.RequiresReplaceIfFuncResponse) {
	w, diags := whereOf(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	resp.RequiresReplace = !w.address.IsNull() || !w.peerURLs.IsNull() || !w.clientURLs.IsNull()
}

// otherThanNothing lets an imported configuration be given its trigger.
func otherThanNothing(_ context.Context, req planmodifier.DynamicRequest, resp *dynamicplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull()
}
