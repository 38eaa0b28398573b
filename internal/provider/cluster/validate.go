// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// isVersion matches a version of etcd with its three numbers, which a member answers and
// a release has.
var isVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

func addressValidator() validator.String {
	return attribute.Checked("must be an IP address or a host name, without scheme and port", func(_, value string) *text.Message {
		_, err := membership.URLAt("https", value, membership.PeerPort)
		if bad, ok := errors.AsType[*membership.URLError](err); ok {
			return new(text.InvalidAddress(bad))
		}
		return nil
	})
}

// newNames applies [attribute.NewName] to the members that the state does not have: an
// existing member with such a name can be imported.
type newNames struct{ attribute.Described }

// PlanModifyMap implements planmodifier.Map.
func (newNames) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	known := req.StateValue.Elements()
	for name := range req.PlanValue.Elements() {
		if _, ok := known[name]; ok {
			continue
		}
		var answer planmodifier.StringResponse
		attribute.NewName().PlanModifyString(ctx, planmodifier.StringRequest{Path: req.Path.AtMapKey(name), PlanValue: types.StringValue(name)}, &answer)
		resp.Diagnostics.Append(answer.Diagnostics...)
	}
}

// ValidateConfig implements [resource.ResourceWithValidateConfig]. A later call checks
// the values that are not known yet.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	m := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	restoreOf(ctx, m.Restore, &resp.Diagnostics).validate(&resp.Diagnostics)
	want, _ := m.wants(ctx, &resp.Diagnostics)
	checkAddresses(want, m.Discovery.IsNull(), &resp.Diagnostics)
}

// checkAddresses refuses members without addresses in a static cluster, members with one
// peer URL, and members that the others cannot reach.
func checkAddresses(want map[string]wanted, static bool, diags *diag.Diagnostics) {
	owner := map[string]string{}
	var inside, outside, url string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		if static && w.PeerURLs == nil && !w.unknown {
			report.ErrorAt(diags, path.Root("members").AtMapKey(name), text.New("Member "+name+" has no address",
				"Without discovery, the members find each other by their addresses. Set address or peer_urls of %s, or set discovery to the bootstrap of an etcd_discovery_token.", name))
		}
		if w.unknown {
			continue
		}
		for _, u := range w.PeerURLs {
			if other, taken := owner[u]; taken {
				report.ErrorAt(diags, path.Root("members").AtMapKey(name), text.SameAddress(name, other, u))
			}
			owner[u] = name
			if membership.IsLoopback(u) {
				inside, url = name, u
			} else {
				outside = name
			}
		}
	}
	if inside != "" && outside != "" {
		report.ErrorOn(diags, "members", text.LoopbackInitialMember(inside, url, outside))
	}
}
