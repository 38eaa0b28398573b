// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// isAbandonedFor reports whether a bootstrap with a snapshot replaces the cluster
// of a configuration: the cluster in which the member was found, or that of its
// bootstrap. If neither is known, because a discovery does not contain it, any
// replacement of the configuration's bootstrap by such a bootstrap counts.
func (p prior) isAbandonedFor(boot *bootstrap.Bootstrap) bool {
	if boot == nil || boot.Replaces() == 0 || p.Token != "" && boot.Token.ValueString() == p.Token {
		return false
	}
	if p.Cluster == "" && p.Formed == "" {
		return p.Token != ""
	}
	return slices.ContainsFunc([]string{p.Cluster, p.Formed}, func(in string) bool {
		id, err := membership.ParseClusterID(in)
		return err == nil && id == boot.Replaces()
	})
}

// findAbandoned determines whether the cluster of the configuration is abandoned,
// stores the result for Delete, and refuses to keep a configuration of such a cluster.
func (g *guard) findAbandoned(ctx context.Context, req resource.ModifyPlanRequest, kept bool) {
	diags := &g.resp.Diagnostics
	var given types.Object
	if !req.Plan.Raw.IsNull() {
		diags.Append(req.Config.GetAttribute(ctx, path.Root("bootstrap"), &given)...)
	}
	boot := bootstrap.From(ctx, given, diags)
	if g.b == nil || diags.HasError() {
		return
	}
	g.noteAbandoned(boot)
	follows := (kept || g.replaced) && g.was.isAbandonedFor(boot)
	id, err := membership.ParseClusterID(cmp.Or(g.was.Cluster, g.was.Formed))
	switch {
	case follows:
		g.abandoned = boot.Replaces()
	case err == nil && g.b.Plan.Abandoned.Has(id):
		g.abandoned = id
	}
	left := ""
	if g.abandoned != 0 {
		left = g.abandoned.String()
	}
	private.Keep(ctx, g.resp.Private, abandonedKey, left, diags)
	gone, _ := g.b.Plan.Abandoned.Get(g.abandoned)
	private.Keep(ctx, g.resp.Private, backend.GoneKey, gone, diags)
	switch {
	case g.abandoned == 0 || g.b.Applying.Load():
	case kept && !follows:
		g.refuse(text.AbandonedStays(g.was.Name, left))
	case !g.replaced: // the first call of a replacement has asked
		c, _ := g.b.Cluster(nil) // nil without endpoints
		var members []membership.Member
		if g.was.Cluster != "" || g.was.Founders > 0 {
			members = []membership.Member{{Name: g.was.Name}}
		}
		g.b.GuardAbandon(ctx, c, g.abandoned, members, diags)
	}
}

// noteAbandoned notes the cluster that a bootstrap replaces.
func (g *guard) noteAbandoned(boot *bootstrap.Bootstrap) {
	if boot != nil && boot.Replaces() != 0 {
		g.b.Plan.Abandoned.GetOrMake(boot.Replaces(), func() []string { return nil })
	}
}

// isRestored reports whether the new configuration is for a cluster that is yet
// to be created from a snapshot, in place of another cluster.
func (g *guard) isRestored(ctx context.Context) bool {
	boot := bootstrap.From(ctx, g.plan.Bootstrap, &g.resp.Diagnostics)
	return boot != nil && boot.Replaces() != 0 && !boot.Complete.ValueBool()
}
