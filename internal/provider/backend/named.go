// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// namedKey is the key of the URLs that a resource's configuration gives for its
// member. The state also holds the URLs that the member advertises, and a
// refresh or a destroy does not get the configuration.
const namedKey = "named"

// attributes is a configuration, a plan or a state.
type attributes interface {
	GetAttribute(context.Context, path.Path, any) diag.Diagnostics
}

// Naming returns ctx for the member whose URLs a configuration or plan gives in
// the named arguments; see [connection.Naming].
func Naming(ctx context.Context, from attributes, arguments ...string) context.Context {
	return connection.Naming(ctx, urlsOf(ctx, from, arguments)...)
}

func urlsOf(ctx context.Context, from attributes, arguments []string) (urls []string) {
	for _, name := range arguments {
		var set types.Set
		if from.GetAttribute(ctx, path.Root(name), &set).HasError() {
			continue // reported when the whole is read
		}
		urls = append(urls, attribute.Texts(set)...)
	}
	slices.Sort(urls)
	return urls
}

// KeepNamed stores the URLs of an applied plan for [Named], and client URLs
// that the provider's arguments name now: a plan that removes a member often removes
// it from endpoints too. See [connection.Settings.NamedOf].
func KeepNamed(ctx context.Context, to private.Writer, from attributes, diags *diag.Diagnostics, client []string, arguments ...string) {
	private.Keep(ctx, to, namedKey, append(urlsOf(ctx, from, arguments), client...), diags)
}

// Named is [Naming] with the URLs that [KeepNamed] stored. There are none for a
// resource that was imported and has not been changed since.
func Named(ctx context.Context, from private.Reader) context.Context {
	var unread diag.Diagnostics // on an error, no URL is named
	return connection.Naming(ctx, private.Kept[[]string](ctx, from, namedKey, &unread)...)
}

// FindMember returns the member that an argument gives by name or ID, 0 if the
// argument is empty. doing completes "Cannot ...".
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
		report.Error(diags, text.NotOne("Invalid "+argument, name, found, snap))
		return 0
	}
	return found[0].ID
}

// WarnUntrusted warns once about the members that get no requests, because the
// credentials must not go to the URLs that they advertise, and how to change
// that. It uses only the provider's arguments, so that the list does not depend
// on which resource comes first.
func (c *Cluster) WarnUntrusted(snap membership.Snapshot, diags *diag.Diagnostics) {
	var urls []string
	for _, m := range snap.Members {
		urls = append(urls, m.ClientURLs...)
	}
	unnamed, plain := c.settings.Untrusted(urls)
	if len(unnamed)+len(plain) == 0 || !c.FirstTime("not asked in "+snap.ClusterID.String()) {
		return
	}
	report.Warn(diags, text.NotTrusted(unnamed, plain))
}

// Refresh returns the [Cluster.View] of a refresh. seen is false if the cluster cannot be
// read, or is not the one that the state has, 0 if it is not known. One resource warns about
// that, and about a silent cluster only if it has answered before.
func (c *Cluster) Refresh(ctx context.Context, has membership.ClusterID, answered bool, diags *diag.Diagnostics) (snap membership.Snapshot, seen bool) {
	snap, err := c.View(ctx, has)
	switch {
	case err != nil:
		if answered && c.FirstTime("unreachable") {
			report.Warn(diags, text.NotRefreshed(err))
		}
	case has != 0 && snap.ClusterID != has:
		if c.FirstTime("other cluster than " + has.String()) {
			report.Warn(diags, text.OtherClusterSeen(reconfigure.NewOtherCluster(has, snap)))
		}
	default:
		return snap, true
	}
	return snap, false
}

// At is [Backend.Cluster] for the endpoints that a resource gives, if it gives any. It
// warns once if the password is sent to them unencrypted, as the provider does about
// its own.
func (b *Backend) At(endpoints []string, diags *diag.Diagnostics) (*Cluster, error) {
	c, err := b.Cluster(endpoints)
	if err != nil || len(endpoints) == 0 {
		return c, err
	}
	reported := b.Settings.InTheClear()
	plain := slices.DeleteFunc(c.settings.InTheClear(), func(u string) bool { return slices.Contains(reported, u) })
	if len(plain) > 0 && b.FirstTime(fmt.Sprint("in the clear: ", plain)) {
		report.Warn(diags, text.PasswordInTheClear(plain))
	}
	return c, nil
}

// Open is [Backend.At] for an operation that the user asks for and that needs a cluster. It
// returns nil with an error if there is none. doing completes "Cannot ...".
func (b *Backend) Open(doing string, endpoints []string, diags *diag.Diagnostics) *Cluster {
	if b == nil || b.Unknown {
		report.Error(diags, text.UnknownProvider(doing))
		return nil
	}
	c, err := b.At(endpoints, diags)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
	}
	return c
}

// FirstTime is [Backend.FirstTime].
func (c *Cluster) FirstTime(key string) bool { return c.backend.FirstTime(key) }
