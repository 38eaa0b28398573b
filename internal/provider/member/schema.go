// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
)

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: memberDescription, Attributes: identityAttributes()}
	if r.role == roleLearner {
		resp.Schema.MarkdownDescription = learnerDescription
		maps.Copy(resp.Schema.Attributes, learnerAttributes())
	} else {
		maps.Copy(resp.Schema.Attributes, memberAttributes())
	}
	maps.Copy(resp.Schema.Attributes, changeAttributes(ctx))
	maps.Copy(resp.Schema.Attributes, computedAttributes())
}

const memberDescription = "A member of the cluster with a vote. Creating it lets the member in: it is announced as a learner, waits until it has started and caught up, and is promoted. " +
	"Founders are waited for and taken over. Destroying it takes the member out, leadership moved away first, and never below quorum.\n\n" +
	"Its place in the graph is after the machine, so that the member leaves the cluster while its machine still runs.\n\n" +
	"Configuration, machine and member are replaced together or not at all. A plan that would leave one of them behind is refused, also for `-replace` and a tainted resource.\n\n" +
	"!> **Warning** Terraform does not call the provider for a `removed` block, `lifecycle { destroy = false }` or `terraform state rm`, and leaves this resource out of a plan " +
	"with `-target` of its machine or OpenTofu's `-exclude`. The machine is then destroyed while its member is in the cluster. `terraform destroy -target` of one machine of a " +
	"`for_each` set removes every member. See [What the provider cannot see](../guides/how-it-works.md#what-the-provider-cannot-see).\n\n" +
	"A `moved` block from an [`etcd_learner`](learner.md) promotes the learner in place (Terraform 1.8, OpenTofu 1.10 and later)."

const learnerDescription = "A member of the cluster without a vote: a standby, or the first phase of a literal two-phase add. " +
	"A cluster takes one learner at a time unless all its servers run with a higher `--max-learners` (etcd 3.6 and later).\n\n" +
	"A `moved` block from an [`etcd_member`](member.md) keeps the member as it is (Terraform 1.8, OpenTofu 1.10 and later). If it is a voter, set `promote = true`: a vote cannot be taken back."

// memberAttributes are those that etcd_member alone has, or has of its own.
func memberAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"wait_until": waitUntil(waitVoting, "`announced` (returns at once), `started`, or `voting` (it has its vote and answers). Default: `voting`. "+
			"With the first two it gets its vote at a later apply.", waitAnnounced, waitStarted, waitVoting),
		"learner_id": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "The `id` of an [`etcd_learner`](learner.md) to take over and promote, for the literal two-phase add: learner, machine, member. " +
				"From then on destroying the `etcd_learner` leaves the cluster alone, and this argument may go as well. A plan fails if the cluster has no member with this ID.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIf(anotherLearner,
				"another learner replaces the member; to leave it out does not", "another learner replaces the member; to leave it out does not")},
			Validators: []validator.String{attribute.MemberID()},
		},
	}
}

// learnerAttributes are those that etcd_learner alone has, or has of its own.
func learnerAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"wait_until": waitUntil(waitCaughtUp, "`announced` (returns at once: the first phase of a two-phase add), `started`, or `caught_up`. Default: `caught_up`.",
			waitAnnounced, waitStarted, waitCaughtUp),
		"promote": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "`true` promotes the learner in place once it has caught up. A promoted learner cannot go back to `false` by itself: that would need another member, with another configuration and machine, and is refused at plan. Default: `false`.",
			PlanModifiers:       []planmodifier.Bool{demotion{"true to false replaces a promoted learner"}},
		},
		"failover": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "`true` makes it a standby: when a voter is lost (it does not answer, and the leader has no connection to it), the next apply gives the learner a vote, " +
				"and the plan shows that. With three voters the lost one must leave first, so that is where `replace_unreachable_after` of the member's configuration belongs as well. Default: `false`.",
		},
	}
}

func waitUntil(otherwise, description string, stages ...string) schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(otherwise), Validators: []validator.String{stringvalidator.OneOf(stages...)},
		MarkdownDescription: "How far creation waits: " + description,
	}
}

// identityAttributes are the arguments that say which member it is, and where.
func identityAttributes() map[string]schema.Attribute {
	config := memberconfig.MemberAttribute()
	config.PlanModifiers = []planmodifier.Object{planConfig{"another configuration replaces it"}}
	return map[string]schema.Attribute{
		"config": config,
		"name": schema.StringAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.String{planName{"the name that config has; another name replaces it"}, attribute.NewName()}, Validators: []validator.String{attribute.Name()},
			MarkdownDescription: "The member's name, unique in the cluster: that of `config`, or an argument where there is no `config`. " +
				"For a new member: letters, digits and `. _ : @ % + ~ -`. A member that exists is imported with any name.",
		},
		"peer_urls": schema.SetAttribute{
			ElementType: types.StringType, Optional: true, Computed: true, PlanModifiers: []planmodifier.Set{planPeerURLs{"the peer URLs that config has, if any"}, attribute.SameURLs()},
			Validators: []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
			MarkdownDescription: "The URLs at which the other members reach it: scheme, host and port. Those of `config`, or an argument where there is no `config` or it has none, because the machine fills them in. " +
				"A change updates them in place, one member at a time; restart the member's process with the new ones right after. " +
				"A change of `peer_urls` in an `etcd_member_config` replaces configuration, machine and member instead.",
		},
		"machine_id": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "The ID of the machine that runs the member. A machine that is replaced together with its configuration takes the member out first; " +
				"a machine that would be replaced alone is refused at plan, because the new one would start with the old identity's settings.",
		},
		"endpoints": schema.ListAttribute{
			ElementType: types.StringType, Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1), attribute.Endpoints()},
			MarkdownDescription: "Client URLs of the cluster, for addresses that are known only once the machines are. Default: the provider's `endpoints`. " +
				"A change takes effect in place and changes nothing in the cluster.",
		},
	}
}

// changeAttributes are the arguments that say how it is added, promoted and removed.
func changeAttributes(ctx context.Context) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"max_lag": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
			MarkdownDescription: "How many raft entries behind the leader a learner may be and still count as caught up. Default: 1000 or 1 % of the leader's index, whichever is more.",
		},
		"stall_timeout": schema.StringAttribute{
			Optional: true, Validators: []validator.String{attribute.Duration()},
			MarkdownDescription: "How long a started learner may show no progress before the wait ends with an error. Default: `5m`.",
		},
		"force_destroy": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether to forget the member when it is destroyed for good and no cluster can remove it: the cluster has lost its quorum, does not answer, or another cluster answers in its place. " +
				"Nothing is changed in a cluster then. A removal that a cluster refuses stays refused, and half of a replacement is never forgotten. Default: `false`, or `force_destroy` of the provider.",
		},
		"timeouts": attribute.Timeouts(ctx, timeouts.Opts{
			Create: true, Update: true, Delete: true,
			CreateDescription: "Timeout for adding the member, more than zero. Default: `10m`.",
			UpdateDescription: "Timeout for promoting the member or updating its peer URLs, more than zero. Default: `10m`.",
			DeleteDescription: "Timeout for removing the member, more than zero. Default: `5m`.",
		}),
	}
}

// computedAttributes are the attributes that the cluster gives.
func computedAttributes() map[string]schema.Attribute {
	known := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"id":          schema.StringAttribute{Computed: true, MarkdownDescription: "The member's ID in hexadecimal, as etcdctl prints it.", PlanModifiers: known},
		"cluster_id":  schema.StringAttribute{Computed: true, MarkdownDescription: "The cluster's ID in hexadecimal.", PlanModifiers: known},
		"role":        schema.StringAttribute{Computed: true, MarkdownDescription: "`voter` or `learner`.", PlanModifiers: known},
		"client_urls": schema.SetAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "The client URLs that the member publishes.", PlanModifiers: []planmodifier.Set{setplanmodifier.UseStateForUnknown()}},
		"version":     schema.StringAttribute{Computed: true, MarkdownDescription: "The version of the member's server, null while it has not been seen.", PlanModifiers: known},
		"environment": schema.MapAttribute{
			ElementType: types.StringType, Computed: true, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "The variables to start the member's process with, as they were right after its announcement (`ETCD_NAME`, `ETCD_INITIAL_CLUSTER`, " +
				"`ETCD_INITIAL_ADVERTISE_PEER_URLS`, `ETCD_INITIAL_CLUSTER_STATE`), as `etcdctl member add` prints them. Null where `config` has them.",
		},
		"initial_cluster": schema.StringAttribute{Computed: true, MarkdownDescription: "`ETCD_INITIAL_CLUSTER` of `environment`, null with it.", PlanModifiers: known},
	}
}

// anotherLearner is about what a member came from. Once it is in the cluster
// that no longer matters, so that the argument may go, or come.
func anotherLearner(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.PlanValue.IsNull()
}
