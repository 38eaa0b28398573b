// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package bootstrap defines the object that passes from the resources that
// decide how a cluster is first formed (such as etcd_discovery_token) to the
// resource that configures its members (etcd_member_config). Both sides use its
// type, so that a value can be assigned unchanged.
package bootstrap

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Values of [Bootstrap.Protocol].
const (
	// ProtocolV3 is discovery through any v3 key space (members of any version;
	// before etcd 3.6, the join script does it).
	ProtocolV3 = "v3"
	// ProtocolV2 is discovery through the v2 keys API (members up to 3.6).
	ProtocolV2 = "v2"
	// ProtocolService is discovery through a service with the protocol of
	// discovery.etcd.io (members up to 3.6).
	ProtocolService = "service"
	// ProtocolStatic is a list of members given to each of them, without discovery.
	ProtocolStatic = "static"
)

// Bootstrap is the Go form of the object. At plan, every field may be unknown.
type Bootstrap struct {
	// Protocol is one of the Protocol constants.
	Protocol types.String `tfsdk:"protocol"`
	// Token is the discovery token, or the static cluster's token.
	Token types.String `tfsdk:"token"`
	// Founders are the names of the initial members; null if only their number
	// is known. The object has them in one text, separated by commas, because
	// every member's plan prints them.
	Founders types.Set    `tfsdk:"-"`
	Names    types.String `tfsdk:"founders"`
	// Size is the number of initial members.
	Size types.Int64 `tfsdk:"size"`
	// Complete is true once every initial member has registered (discovery) or
	// the cluster has responded (static). It never becomes false again.
	Complete types.Bool `tfsdk:"complete"`
	// Environment holds the ETCD_* variables that an initial member needs to
	// bootstrap, in addition to its name and its URLs.
	Environment types.Map `tfsdk:"environment"`
	// ClusterID is the cluster's ID, 16 hexadecimal digits; null for a
	// discovery, which does not contain it.
	ClusterID types.String `tfsdk:"cluster_id"`
	// RegistryEndpoints are the client URLs of the discovery cluster to which a
	// machine connects; null for a static bootstrap.
	RegistryEndpoints types.List `tfsdk:"registry_endpoints"`
	// Window is the time after the creation of its configuration during which the
	// first initial member of a static bootstrap, by name, may start to form the
	// cluster, in the format of time.ParseDuration; null for a discovery.
	Window types.String `tfsdk:"window"`
	// ReplacesCluster is the ID of the cluster that this cluster replaces with
	// a restored snapshot; null if there is none.
	ReplacesCluster types.String `tfsdk:"replaces_cluster"`
	// Retry is null, except that it is unknown in a plan that changes a
	// bootstrap which is known not to have formed a cluster. This is the only
	// way to pass that fact to the provider of the members, which may be
	// another process: an unknown value may become any value, so the apply does
	// not need to know it.
	Retry types.Bool `tfsdk:"retry"`
}

// Retrying returns the object with [Bootstrap.Retry] unknown.
func Retrying(object types.Object) types.Object { return With(object, "retry", types.BoolUnknown()) }

// With returns the object with another value of one attribute.
func With(object types.Object, attribute string, value attr.Value) types.Object {
	attributes := object.Attributes()
	attributes[attribute] = value
	return types.ObjectValueMust(AttrTypes(), attributes)
}

// IsRetry reports whether the plan starts the bootstrap again because it is
// known not to have formed a cluster. Only then does a member adopt it.
func (b *Bootstrap) IsRetry() bool { return b.Retry.IsUnknown() }

// Replaces returns the cluster that this cluster replaces with a restored
// snapshot, 0 if there is none or if it is not known.
func (b *Bootstrap) Replaces() membership.ClusterID {
	id, err := membership.ParseClusterID(b.ReplacesCluster.ValueString())
	if err != nil {
		return 0
	}
	return id
}

// objectType is derived from the attributes of the object.
var objectType = types.ObjectType{AttrTypes: attribute.TypesOf(describe(true))}

// AttrTypes returns the object's attribute types.
func AttrTypes() map[string]attr.Type { return objectType.AttrTypes }

// Object returns b as the value of an attribute of [Type]. A collection that
// was never set becomes null.
func (b Bootstrap) Object() types.Object {
	if b.Environment.IsNull() {
		b.Environment = types.MapNull(types.StringType)
	}
	if b.RegistryEndpoints.IsNull() {
		b.RegistryEndpoints = types.ListNull(types.StringType)
	}
	return types.ObjectValueMust(AttrTypes(), map[string]attr.Value{
		"protocol": b.Protocol, "token": b.Token, "founders": joined(b.Founders), "size": b.Size, "complete": b.Complete,
		"environment": b.Environment, "cluster_id": b.ClusterID, "registry_endpoints": b.RegistryEndpoints,
		"window": b.Window, "replaces_cluster": b.ReplacesCluster, "retry": b.Retry,
	})
}

// From reads the value of an attribute of [Type]. It returns nil for a null
// object and for an unknown object: check IsUnknown of the object first.
func From(ctx context.Context, object types.Object, diags *diag.Diagnostics) *Bootstrap {
	if object.IsNull() || object.IsUnknown() {
		return nil
	}
	var b Bootstrap
	if d := object.As(ctx, &b, basetypes.ObjectAsOptions{}); d.HasError() {
		diags.Append(d...)
		return nil
	}
	b.Founders = split(b.Names)
	return &b
}

// joined returns the names, sorted and separated by commas, which no name contains.
func joined(names types.Set) types.String {
	switch {
	case names.IsNull():
		return types.StringNull()
	case attribute.SomeUnknown(names):
		return types.StringUnknown()
	}
	return types.StringValue(strings.Join(slices.Sorted(slices.Values(attribute.Texts(names))), ","))
}

// split is the inverse of [joined].
func split(names types.String) types.Set {
	switch {
	case names.IsNull():
		return types.SetNull(types.StringType)
	case names.IsUnknown():
		return types.SetUnknown(types.StringType)
	}
	return attribute.SetOf(strings.FieldsFunc(names.ValueString(), func(r rune) bool { return r == ',' }))
}

// largeSize is the largest number of initial members that does not cause a
// warning.
const largeSize = 9

// AdviseSize warns about a number of initial members that is of little use.
func AdviseSize(n int, diags *diag.Diagnostics) {
	switch {
	case n > largeSize:
		report.Warn(diags, text.DiscoverySizeLarge(n))
	case n > 0 && n%2 == 0:
		report.Warn(diags, text.DiscoverySizeEven(n))
	}
}

// ComputedAttribute returns the attribute for resources that produce a bootstrap.
func ComputedAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed:            true,
		MarkdownDescription: "The bootstrap as one object. Set `bootstrap` of every [`etcd_member_config`](member_config.md) to it.",
		Attributes:          describe(true),
	}
}

// InputAttribute returns the optional attribute for the resource that takes a
// bootstrap, which adds plan modifiers and validators.
func InputAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The `bootstrap` of an [`etcd_initial_cluster`](initial_cluster.md) or an [`etcd_discovery_token`](discovery_token.md). Fixed at creation: a later change has an effect only if it starts a bootstrap again that has formed no cluster. Default: none, for a member that joins an existing cluster.",
		Attributes:          describe(false),
	}
}

// describe returns the attributes of the object, either computed or optional.
func describe(computed bool) map[string]schema.Attribute {
	text := func(description string, validators ...validator.String) schema.StringAttribute {
		return schema.StringAttribute{Computed: computed, Optional: !computed, MarkdownDescription: description, Validators: validators}
	}
	token := text("Discovery token, or token of the static cluster.")
	token.Sensitive = true
	return map[string]schema.Attribute{
		"protocol": text("`v3`, `v2`, `service` or `static`."),
		"token":    token,
		"founders": text("Names of the initial members, sorted and separated by commas. Null while only their number is known."),
		"size": schema.Int64Attribute{
			Computed: computed, Optional: !computed,
			MarkdownDescription: "Number of initial members.",
		},
		"complete": schema.BoolAttribute{
			Computed: computed, Optional: !computed,
			MarkdownDescription: "Whether the bootstrap is complete. Once `true` it stays `true`, and every further member joins the existing cluster.",
		},
		"environment": schema.MapAttribute{
			Computed: computed, Optional: !computed, ElementType: types.StringType, Sensitive: true,
			MarkdownDescription: "The `ETCD_*` variables that an initial member needs to bootstrap, in addition to its name and its URLs.",
		},
		"cluster_id": text("ID of the cluster in hexadecimal. Null with a discovery token: the ID follows from the members that register.", attribute.ClusterID()),
		"registry_endpoints": schema.ListAttribute{
			Computed: computed, Optional: !computed, ElementType: types.StringType,
			MarkdownDescription: "Client URLs of the discovery cluster as the machines reach it. Null for a static bootstrap.",
		},
		"window":           text("Time after the creation of its configuration in which the first initial member by name can form a static cluster. Null with a discovery token.", attribute.Duration()),
		"replaces_cluster": text("ID of the cluster that this one replaces with a restored snapshot, in hexadecimal. Null if it replaces none.", attribute.ClusterID()),
		"retry": schema.BoolAttribute{
			Computed: computed, Optional: !computed,
			MarkdownDescription: "Null. `(known after apply)` in a plan that starts a bootstrap again that has formed no cluster.",
		},
	}
}
