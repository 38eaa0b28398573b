// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// checkBootstrap refuses a new configuration that does not fit its bootstrap.
// It uses only the configuration and its bootstrap, which the graph passes, so
// that it also works with -target, in modules, and for a bootstrap of another
// provider block, which is another process.
func (r *Resource) checkBootstrap(ctx context.Context, m model, resp *resource.ModifyPlanResponse) {
	boot := bootstrap.From(ctx, m.Bootstrap, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || boot == nil || boot.Complete.ValueBool() || m.Name.IsUnknown() {
		return
	}
	argument := path.Root("peer_urls")
	if !m.Address.IsNull() {
		argument = path.Root("address")
	}
	u := m.knownURLs()
	if t := misfit(m.Name.ValueString(), u.peer, founders(boot)); t != nil {
		report.ErrorAt(&resp.Diagnostics, argument, *t)
	}
	own := u.client
	if r.backend != nil {
		own = append(own, r.backend.Settings.Endpoints...)
	}
	if at := shared(own, attribute.Texts(boot.RegistryEndpoints)); at != "" {
		report.ErrorAt(&resp.Diagnostics, path.Root("bootstrap"), text.RegistryIsCluster(m.Name.ValueString(), at))
	}
}

// knownURLs returns the URLs; those of a set with an unknown element are nil.
func (m model) knownURLs() urls {
	u := m.urls()
	if attribute.SomeUnknown(m.PeerURLs) {
		u.peer = nil
	}
	if attribute.SomeUnknown(m.ClientURLs) {
		u.client = nil
	}
	return u
}

// founders returns the peer URLs of the initial members of a static bootstrap.
// It returns nil for a discovery, and if they are not known.
func founders(boot *bootstrap.Bootstrap) map[string][]string {
	initial, ok := boot.Environment.Elements()["ETCD_INITIAL_CLUSTER"].(types.String)
	if !ok || initial.IsUnknown() {
		return nil
	}
	out, err := membership.ParseInitialCluster(initial.ValueString())
	if err != nil {
		return nil // only possible if written by hand
	}
	return out
}

// misfit returns how a configuration contradicts the initial members of its bootstrap:
// it has the name of an initial member and other peer URLs, or a peer URL of an initial
// member and another name. Then that member never starts, or etcd refuses to start.
func misfit(name string, peers []string, founders map[string][]string) *text.Message {
	if len(peers) == 0 || len(founders) == 0 {
		return nil
	}
	if given, ok := founders[name]; ok {
		if membership.SameURLs(given, peers) {
			return nil
		}
		return new(text.FounderURLs(name, peers, given))
	}
	for _, founder := range slices.Sorted(maps.Keys(founders)) {
		if at := shared(peers, founders[founder]); at != "" {
			return new(text.FounderName(name, founder, at))
		}
	}
	return nil
}

// shared returns the first of the URLs that has the same host and port as one
// of the others, "" if there is none.
func shared(urls, others []string) string {
	for _, u := range urls {
		if slices.ContainsFunc(others, func(o string) bool { return hostPort(u) != "" && hostPort(u) == hostPort(o) }) {
			return u
		}
	}
	return ""
}

// hostPort returns the host and port of a URL in normal form, "" if it has none.
func hostPort(raw string) string {
	normal, _ := membership.NormalizeURL(raw) // "" after an error
	_, at, _ := strings.Cut(normal, "://")
	return at
}

// noteConfigured notes a created configuration, and the initial members of its
// cluster if the cluster does not exist yet and their names are known.
func (r *Resource) noteConfigured(m model, p plan) {
	c := backend.Configured{Name: m.Name.ValueString(), InitialCluster: m.InitialCluster.ValueString()}
	if p.role != roleJoiner && p.boot != nil && p.founders != nil {
		c.Token, c.Founders = p.boot.Token.ValueString(), p.founders
	}
	r.backend.Configured.Set(m.ID.ValueString(), c)
}
