// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package bootstrap defines the object that etcd_discovery_token gives and
// etcd_cluster takes. Both use its type, so that a value can be assigned unchanged.
package bootstrap

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Bootstrap is the Go form of the object. At plan, every field may be unknown.
type Bootstrap struct {
	// Size is the number of initial members.
	Size types.Int64 `tfsdk:"size"`
	// Complete is true once every initial member has registered. It never becomes
	// false again.
	Complete types.Bool `tfsdk:"complete"`
	// Environment holds the ETCD_* variables with which an initial member finds the
	// others.
	Environment types.Map `tfsdk:"environment"`
}

// AttrTypes returns the object's attribute types.
func AttrTypes() map[string]attr.Type { return attribute.TypesOf(describe(true)) }

// Object returns b as the value of an attribute of [AttrTypes].
func (b Bootstrap) Object() types.Object {
	return types.ObjectValueMust(AttrTypes(), map[string]attr.Value{"size": b.Size, "complete": b.Complete, "environment": b.Environment})
}

// RefuseMembers refuses members, given by name with their client URLs, that are
// endpoints of the token's discovery cluster. It refuses nothing as long as the
// endpoints are unknown.
func (b *Bootstrap) RefuseMembers(clients map[string][]string, diags *diag.Diagnostics) {
	endpoints := b.endpoints()
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if i := slices.IndexFunc(clients[name], func(u string) bool { return slices.Contains(endpoints, u) }); i >= 0 {
			report.ErrorOn(diags, "discovery", text.New("Member "+name+" is an endpoint of its discovery cluster",
				"Members ask the discovery cluster before they start, so it cannot be one of them. %s is an address of %s and an endpoint of the discovery cluster. "+
					"Nothing was changed. Set endpoints of the provider of the etcd_discovery_token, or its advertised_endpoints, to another etcd cluster, or correct the address of %s.",
				clients[name][i], name, name))
		}
	}
}

// endpoints returns the normalised URLs of the discovery cluster, for v3 and v2. A
// service is not an etcd server.
func (b *Bootstrap) endpoints() []string {
	variables := attribute.TextsByKey(b.Environment)
	if at, err := discovery.ParseURL(variables["ETCD_DISCOVERY"]); err == nil && at.Protocol == discovery.V2 {
		return []string{at.Base}
	}
	return strings.Split(variables["ETCD_DISCOVERY_ENDPOINTS"], ",")
}

// largeSize is the largest number of initial members that does not cause a
// warning.
const largeSize = 9

// AdviseSize warns about a number of initial members that is of little use.
func AdviseSize(n int, diags *diag.Diagnostics) {
	switch {
	case n > largeSize:
		report.Warn(diags, text.New("Many initial members",
			"%d initial members: every write waits for a majority of them, and more than 7 members make a cluster slower rather than safer. 3 survive the loss of one member, 5 of two, 7 of three.", n))
	case n > 0 && n%2 == 0:
		report.Warn(diags, text.New("Even number of initial members",
			"%d members tolerate the failure of %d, the same as %d. Prefer %d or %d.", n, (n-1)/2, n-1, n-1, n+1))
	}
}

// Attribute returns the attribute of etcd_discovery_token, which is computed, or of etcd_cluster.
func Attribute(computed bool, description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: computed, Optional: !computed, Attributes: describe(computed), MarkdownDescription: description}
}

// describe returns the attributes of the object, either computed or optional.
func describe(computed bool) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"size":     schema.Int64Attribute{Computed: computed, Optional: !computed, MarkdownDescription: "Number of initial members."},
		"complete": schema.BoolAttribute{Computed: computed, Optional: !computed, MarkdownDescription: "Whether all initial members have registered."},
		"environment": schema.MapAttribute{
			Computed: computed, Optional: !computed, ElementType: types.StringType, Sensitive: true,
			MarkdownDescription: "The `ETCD_*` variables with which an initial member finds the others.",
		},
	}
}
