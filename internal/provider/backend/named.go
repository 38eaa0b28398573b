// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// namedKey is where a resource keeps the URLs that its configuration gives for
// the member it manages. The state holds what the member advertises as well,
// and a refresh or a destroy sees no configuration.
const namedKey = "named"

// attributes is a configuration, a plan or a state.
type attributes interface {
	GetAttribute(context.Context, path.Path, any) diag.Diagnostics
}

// Naming returns ctx for the member that a configuration or plan gives the URLs
// of, in the arguments of these names; see [connection.Naming].
func Naming(ctx context.Context, from attributes, arguments ...string) context.Context {
	return connection.Naming(ctx, urlsOf(ctx, from, arguments)...)
}

func urlsOf(ctx context.Context, from attributes, arguments []string) (urls []string) {
	for _, name := range arguments {
		var set types.Set
		if from.GetAttribute(ctx, path.Root(name), &set).HasError() {
			continue // said by who reads the whole
		}
		urls = append(urls, attribute.Texts(set)...)
	}
	slices.Sort(urls)
	return urls
}

// KeepNamed keeps the URLs for [Named], of a plan that has been carried out.
func KeepNamed(ctx context.Context, to private.Writer, from attributes, diags *diag.Diagnostics, arguments ...string) {
	private.Keep(ctx, to, namedKey, urlsOf(ctx, from, arguments), diags)
}

// Named is [Naming] with what [KeepNamed] kept: nothing for a resource that was
// imported and has not been changed since.
func Named(ctx context.Context, from private.Reader) context.Context {
	var unread diag.Diagnostics // then nothing is named
	return connection.Naming(ctx, private.Kept[[]string](ctx, from, namedKey, &unread)...)
}

// FindMember returns the member that an argument names, by name or ID; 0 where it
// names none. doing completes "Cannot ...".
func (c *Cluster) FindMember(ctx context.Context, doing, argument, name string, diags *diag.Diagnostics) membership.MemberID {
	if name == "" {
		return 0
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
		return 0
	}
	found := snap.Find(name)
	if len(found) != 1 {
		report.Error(diags, text.MaintenanceMember(argument, name, found, snap))
		return 0
	}
	return found[0].ID
}

// WarnUntrusted says once which members are not asked, because the credentials
// must not go to the URLs that they advertise, and what makes them askable. It
// goes by the provider's arguments alone, so that the list is the same whichever
// resource comes first.
func (c *Cluster) WarnUntrusted(snap membership.Snapshot, diags *diag.Diagnostics) {
	var urls []string
	for _, m := range snap.Members {
		urls = append(urls, m.ClientURLs...)
	}
	hosts, plain := c.settings.Untrusted(urls)
	if len(hosts)+len(plain) == 0 || !c.FirstTime("not asked in "+snap.ClusterID.String()) {
		return
	}
	report.Warn(diags, text.HostsNotTrusted(c.settings.TrustedHosts, hosts, plain))
}

// FirstTime is [Backend.FirstTime].
func (c *Cluster) FirstTime(key string) bool { return c.backend.FirstTime(key) }
