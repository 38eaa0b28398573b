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

const description = "Generates how the process of one member starts: the environment and the join script for the user data of its machine."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: nameAttributes()}
	for _, group := range []map[string]schema.Attribute{advertisedAttributes(), listenAttributes(), bootstrapAttributes(), computedAttributes(), machineAttributes()} {
		maps.Copy(resp.Schema.Attributes, group)
	}
}

// nameAttributes are the arguments that identify the member.
func nameAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the member, unique in the cluster (`ETCD_NAME`). A change replaces the configuration, the machine and the member. Allowed: letters, digits and `. _ : @ % + ~ -`.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace(), attribute.NewName()},
			Validators:          []validator.String{attribute.Name()},
		},
		"address": addressAttribute(),
		"scheme":  schemeAttribute(),
	}
}

// advertisedAttributes are the URLs at which other processes reach the member.
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
			MarkdownDescription: "URLs at which the other members reach the member (`ETCD_INITIAL_ADVERTISE_PEER_URLS`): scheme, host and port. A change replaces the configuration. Default: the URL " +
				"that follows from `address`. Omit both if only the machine knows its address. The machine then sets the variables itself.",
			PlanModifiers: replaceURLs(where.peers),
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
		},
		"client_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			Computed:    true,
			MarkdownDescription: "URLs at which clients reach the member (`ETCD_ADVERTISE_CLIENT_URLS`). A change replaces the configuration. Default: the schemes and hosts of `peer_urls` with port " +
				"2379, if there are `peer_urls`.",
			PlanModifiers: replaceURLs(where.clients),
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
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
			MarkdownDescription: "URLs on which etcd listens for peers (`ETCD_LISTEN_PEER_URLS`). A change replaces the configuration. Default: `peer_urls`, with the wildcard address in place of a " +
				"host name. Host names other than `localhost` are refused, because etcd listens on IP addresses only.",
			PlanModifiers: replaceSet,
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Listened()},
		},
		"listen_client_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "URLs on which etcd listens for clients (`ETCD_LISTEN_CLIENT_URLS`). A change replaces the configuration. Default: `client_urls`, with the wildcard address in place " +
				"of a host name.",
			PlanModifiers: replaceSet,
			Validators:    []validator.Set{setvalidator.SizeAtLeast(1), attribute.Listened()},
		},
	}
}

// bootstrapAttributes are the arguments about how the member enters its
// cluster, and when another member replaces it.
func bootstrapAttributes() map[string]schema.Attribute {
	boot := bootstrap.InputAttribute()
	boot.PlanModifiers = append(boot.PlanModifiers, keepBootstrap{"stays as it was at creation, unless a founder that never formed a cluster gets another bootstrap"})
	boot.Validators = append(boot.Validators, variables.InBootstrap())
	return map[string]schema.Attribute{
		"bootstrap": boot,
		"join_peer_urls": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "Peer URLs of members that the join script asks, in addition to those that the cluster lists when the configuration is created. Use it for members with dynamic " +
				"addresses if the provider has no endpoints, for example with the `peer_urls` of the `members` of an `etcd_discovery_token`. A member that is created together with " +
				"its cluster needs none: it asks the discovery cluster. Fixed at creation: a later change has no effect. Default: none.",
			PlanModifiers: []planmodifier.Set{keepSet{"stays as it was at creation"}},
			Validators:    []validator.Set{attribute.Advertised()},
		},
		"triggers_replace": schema.DynamicAttribute{
			Optional: true,
			MarkdownDescription: "Any value. A change replaces the configuration, the machine that uses it, and the member. Set it to what recreates the machine, such as the image or a version. " +
				"Setting it on an imported configuration changes nothing.",
			PlanModifiers: []planmodifier.Dynamic{dynamicplanmodifier.RequiresReplaceIf(otherThanNothing,
				"a change replaces it, unless it had none before", "a change replaces it, unless it had none before")},
		},
		"replace_unreachable_after": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Time after which a plan replaces an unreachable member and its machine, such as `10m`. Use more than a reboot takes. Both Terraform and the leader must see the " +
				"member as unreachable, and the other members must have a quorum. If several members have failed, each apply replaces one. The start of the outage is stored in the " +
				"state by an apply, also with `-refresh-only`. The plan blocks for the time that remains. Default: none. Without it, nothing is replaced, and a warning prints the " +
				"command.",
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
			MarkdownDescription: "ID of this configuration. `etcd_member` and `etcd_learner` take it from `config`.",
			PlanModifiers:       fixed,
		},
		"founder": schema.BoolAttribute{
			Computed:            true,
			MarkdownDescription: "Whether this member is an initial member, which forms the cluster together with others. If `false`, it joins an existing cluster. Fixed at creation.",
			PlanModifiers:       []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()},
		},
		"founders": schema.Int64Attribute{
			Computed: true,
			MarkdownDescription: "Number of initial members, if the configuration was created before the cluster. 0 if the bootstrap does not contain the number. Null if the cluster existed when the " +
				"configuration was created, and after an import.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
		"status": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "State of the member in the cluster: `pending`, `announced`, `member`, `unreachable`, `failed`, `removed`, `retired` or `stale`. See [Status](#status).",
			PlanModifiers:       fixed,
		},
	}
}

// machineAttributes are the attributes for user data. They are computed at
// creation and never change.
func machineAttributes() map[string]schema.Attribute {
	fixed := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"environment": schema.MapAttribute{
			ElementType: types.StringType,
			Computed:    true,
			Sensitive:   true, // it may hold a discovery token or the signed URL of a snapshot
			MarkdownDescription: "The `ETCD_*` variables of the process: name, addresses, initial state and bootstrap. Variables that begin with `ETCD_JOIN_` are for the join script only. Without " +
				"the join script, a new member starts with them only if the membership does not change before.",
			PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		},
		"initial_cluster": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "For a new member, the members at the time of creation and itself (`ETCD_INITIAL_CLUSTER`). Null for an initial member with a discovery token.",
			PlanModifiers:       fixed,
		},
		"join_script_base64gzip": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "POSIX shell script to run before every start of etcd, with the environment loaded. It needs `curl`. It is compressed with gzip and encoded in base64. To decode it, " +
				"use `encoding: gz+b64` in `write_files` of cloud-init, `compression: gzip` with `source: data:;base64,…` in Butane, or `base64 -d | gunzip` in a shell. It prints " +
				"`ETCD_*` assignments that override the environment on standard output, and its reasons on standard error. See [Exit status](#exit-status-of-the-join-script). With a " +
				"discovery token it also contains what asks the discovery cluster. Fixed at creation: another version of the provider does not change it.",
			PlanModifiers: fixed,
		},
		"user_data_format": schema.Int64Attribute{
			Computed: true,
			MarkdownDescription: "Format in which [`cloud_config`](../functions/cloud_config.md) and [`ignition`](../functions/ignition.md) write the machine's user data: the newest one when the " +
				"configuration is created. Another version of the provider does not change it, so the user data of an existing machine stays the same.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
	}
}

// toOthers allows an imported configuration, which has the URLs from the member
// list, to leave the URLs to the machine: then address, peer_urls and
// client_urls are not given.
func toOthers(ctx context.Context, req planmodifier.SetRequest, resp *setplanmodifier.RequiresReplaceIfFuncResponse) {
	w, diags := whereOf(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	resp.RequiresReplace = !w.address.IsNull() || !w.peerURLs.IsNull() || !w.clientURLs.IsNull()
}

// otherThanNothing lets a configuration without a trigger, such as an imported one, get one.
func otherThanNothing(_ context.Context, req planmodifier.DynamicRequest, resp *dynamicplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull()
}
