// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

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
