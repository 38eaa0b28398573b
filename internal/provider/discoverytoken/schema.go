// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

const description = `A discovery token: the founders of a new etcd cluster find each other through it, so that none of them has to know the others' addresses beforehand.

The registry that holds the token is another etcd, the one at the ` + "`endpoints`" + ` of this resource's provider, or a discovery service. It is asked
to make the token once, when the resource is created, and never during a refresh.

!> **Warning** Start every machine through the join script (` + "`join_script_base64gzip`" + `) of its ` + "`etcd_member_config`" + `. With the environment alone etcd itself decides how it starts: a member
whose data was lost can register with the token again, or start empty under its old identity, and acknowledged writes can be lost.

**A token serves one bootstrap.** As long as it is incomplete, a change of ` + "`founders`, `size`, `protocol`, `service_url`, `prefix` or `token`" + ` makes a new one,
and replaces the founders, which have formed no cluster. For that the registry is asked during the plan. If it does not answer, or does not have the token any more, the cluster
may have formed, and the plan is refused. Once every founder has registered, the token is ` + "`complete`" + ` and retired: it cannot be replaced, those arguments can change
without any effect, more members join through their ` + "`etcd_member`" + `, and the plan stays empty even when the registry is gone. If the cluster never formed, or is
gone for good, run ` + "`terraform destroy -refresh=false`" + ` and then ` + "`terraform apply`" + `.

` + "`protocol`" + ` is ` + "`v3`" + ` for members of every version. For etcd 3.4 and 3.5 the join script registers the member, and starts etcd with the initial cluster that results.
**Without the script, a member that does not understand its protocol ignores it and forms a cluster of its own**:

| members | ` + "`v3`" + ` | ` + "`v2`" + ` | ` + "`service`" + ` |
|---|---|---|---|
| 3.4, 3.5 | yes, with the join script only | yes | yes |
| 3.6 | yes | yes, deprecated | yes, deprecated |
| 3.7 | yes | no | no |
| registry | any etcd | etcd 3.4 or 3.5 with ` + "`--enable-v2`" + ` | a service that speaks as discovery.etcd.io does |

~> **Note** Until the token is complete it is a capability: whoever knows it and reaches the registry can register as a founder, and so become a member of the cluster
that forms. Afterwards it opens nothing: the registry turns everyone else away. ` + "`token`, `url` and `id`" + ` are sensitive, and diagnostics show the first 8 digits.
` + "`environment`, `bootstrap` and the `environment` of an `etcd_member_config`" + ` hold the token too and are not sensitive, because one sensitive value hides all of a machine's user data
in a plan. Keep plans and the state of an incomplete token to those who may found the cluster. Give machines ` + "`bootstrap` or `environment`, not `token` or `url`" + `.

If the answer to the request that makes the token is lost for good, the token is kept in the state with a warning, and the next apply
makes sure that the registry has it: there is never a second one.

~> **Note** A provider block without ` + "`endpoints`" + ` takes them from ` + "`ETCDCTL_ENDPOINTS`" + `, an alias too. If the variable names the cluster that is to form, the token would be
created in that cluster. Set ` + "`endpoints`" + ` in the provider block of the discovery cluster. A configuration whose own cluster holds the token is refused, at the latest before its machine is created.

A token is created only if there is no other key below ` + "`<prefix>/<token>/`" + `. Destroy deletes the size and the registrations, key by key. Other keys stay, and a
warning names them.`

// Schema implements [resource.Resource].
func (r *tokenResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: whichToken()}
	maps.Copy(resp.Schema.Attributes, howItIsReached(ctx))
	maps.Copy(resp.Schema.Attributes, whatTheRegistryHas())
}

// whichToken are the arguments that say which token it is; a change of them asks
// for a new one.
func whichToken() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"founders": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			// Computed so that they can stay when they are taken out of the
			// configuration of a complete token.
			Computed:   true,
			Validators: []validator.Set{setvalidator.NoNullValues()},
			MarkdownDescription: "Names of the members that form the cluster together, each the `name` of an `etcd_member_config`. Everyone else joins later. " +
				"Give this or `size`. A change makes a new token while this one is incomplete, and does nothing afterwards.",
		},
		"size": schema.NumberAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Number of members that form the cluster together, from 1 to 99. Default: the number of `founders`. Prefer 3 or 5. " +
				"A change makes a new token while this one is incomplete, and does nothing afterwards.",
		},
		"protocol": schema.StringAttribute{
			Optional:            true,
			Computed:            true,
			Default:             stringdefault.StaticString(bootstrap.ProtocolV3),
			MarkdownDescription: "How members speak to the registry: `v3`, `v2` or `service`, see the table above. Default: `v3`.",
		},
		"service_url": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "URL of the discovery service, to which `/new` is added. Only with `protocol = \"service\"`. Default: `https://discovery.etcd.io`, the public service, " +
				"which is no longer maintained. The service is asked for a token once; it cannot delete one, so `destroy` only forgets it.",
		},
		"prefix": schema.StringAttribute{
			Optional: true,
			Computed: true,
			Default:  stringdefault.StaticString(discovery.DefaultPrefix),
			MarkdownDescription: "Key under which the registry holds its tokens; null with `service`. Default: `/_etcd/registry`. Members with `v3` look under that only, " +
				"unless they reach the registry through a gRPC proxy that adds a namespace.",
		},
		"token": schema.StringAttribute{
			Optional:  true,
			Computed:  true,
			Sensitive: true,
			MarkdownDescription: "The token. Default: 32 random hexadecimal digits. One that exists already is never taken over; import it instead. " +
				"Letters, digits, `-`, `_` and `.` only. A service names its tokens itself. Whoever knows the token and reaches the registry can register as a founder.",
		},
	}
}

// howItIsReached are the arguments that change in place.
func howItIsReached(ctx context.Context) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"advertised_endpoints": schema.ListAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "Client URLs of the registry as the machines reach it, if that differs. Default: the provider's `endpoints`. " +
				"They go into `environment` and `bootstrap`; with `v2` only the first does, since a member takes one URL.",
		},
		"machine_access": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "What a machine needs to get into a `v3` registry with TLS or authentication. Only names go into `environment`: " +
				"the files are the machine's own, and a password is added on the machine as `ETCD_DISCOVERY_PASSWORD`.",
			Attributes: map[string]schema.Attribute{
				"ca_cert":  schema.StringAttribute{Optional: true, MarkdownDescription: "Path on the machine of the CA that signed the registry's certificate (`ETCD_DISCOVERY_CACERT`)."},
				"cert":     schema.StringAttribute{Optional: true, MarkdownDescription: "Path on the machine of a client certificate for the registry (`ETCD_DISCOVERY_CERT`). The HTTP gateway of a registry with authentication refuses one with a common name: see [The machines to the registry](../guides/certificates.md#the-machines-to-the-registry)."},
				"key":      schema.StringAttribute{Optional: true, MarkdownDescription: "Path on the machine of that certificate's key (`ETCD_DISCOVERY_KEY`)."},
				"username": schema.StringAttribute{Optional: true, MarkdownDescription: "User of the registry (`ETCD_DISCOVERY_USER`); its role needs `readwrite` on the prefix `/_etcd/registry/<token>/`."},
			},
		},
		"timeouts": attribute.Timeouts(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "Timeout for creating the token in the registry, more than zero. Default: `" + attribute.DurationText(defaultCreate) + "`.",
			ReadDescription:   "Timeout for reading the registrations during a refresh, more than zero. Default: `" + attribute.DurationText(defaultRead) + "`.",
			UpdateDescription: "Timeout for making sure that the registry has the token, more than zero. Default: `" + attribute.DurationText(defaultCreate) + "`.",
			DeleteDescription: "Timeout for deleting the token from the registry, more than zero. Default: `" + attribute.DurationText(defaultDelete) + "`.",
		}),
	}
}

// whatTheRegistryHas are the attributes that follow from the token and its registry.
func whatTheRegistryHas() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:            true,
			Sensitive:           true,
			MarkdownDescription: "The same as `token`.",
		},
		"url": schema.StringAttribute{
			Computed:            true,
			Sensitive:           true,
			MarkdownDescription: "Discovery URL for `--discovery`, with `v2` and `service`. Null with `v3`, where members are given a token and endpoints.",
		},
		"environment": schema.MapAttribute{
			ElementType: types.StringType,
			Computed:    true,
			MarkdownDescription: "Variables that a founder needs to find the others: `ETCD_DISCOVERY_TOKEN`, `ETCD_DISCOVERY_ENDPOINTS` and those of `machine_access` with `v3`, " +
				"`ETCD_DISCOVERY` and `ETCD_DISCOVERY_FALLBACK` with `v2` and `service`.",
		},
		"members": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The founders that have registered, in order of registration; never more than `size`.",
			NestedObject:        memberObject,
		},
		"complete": schema.BoolAttribute{
			Computed: true,
			MarkdownDescription: "Whether all founders have registered, as of the last refresh. Once true it stays true, and the registry is not asked again: " +
				"the token is retired, and whether the registry still has it makes no difference.",
		},
		"bootstrap": bootstrap.ComputedAttribute(),
	}
}

// memberObject is one element of members.
var memberObject = schema.NestedAttributeObject{
	Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the member in the cluster that it founds, in hexadecimal."},
		"name": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the member."},
		"peer_urls": schema.ListAttribute{
			ElementType:         types.StringType,
			Computed:            true,
			MarkdownDescription: "Peer URLs that the member advertises.",
		},
	},
}
