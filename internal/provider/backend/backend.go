// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package backend is what the provider hands to its resources and data
// sources: the connection settings, and what is shared between them in one
// process (connections, locks, hints).
package backend

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// Backend is made once for each configured provider.
type Backend struct {
	// Unknown is true while the provider's configuration holds values that are
	// not known yet (normal at plan, when the machines are made in the same
	// apply). Nothing may be dialled then: reads keep the prior state and plan
	// checks are skipped.
	Unknown bool
	// Settings are the provider's own. Endpoints may be empty: then each
	// resource must bring its own, or fail with text.NoEndpoints.
	Settings connection.Settings
	// ForceDestroy makes every member that is destroyed for good do what its own
	// force_destroy does.
	ForceDestroy bool
	// Pool holds the connections that everything in this process shares.
	Pool *connection.Pool

	// Plan is what the plan that is being made does, as far as it has been made.
	Plan Plan
	// Order is the order in which that plan comes by its nodes.
	Order PlanOrder
	// Configured are the configurations that this apply has made, by ID.
	Configured syncmap.Map[string, Configured]
	// SnapshotFiles are the files that resources etcd_snapshot in the state have made,
	// or have just left; false for one that a resource has made since. SnapshotPlans
	// says for each file of the plan which resource makes it.
	SnapshotFiles syncmap.Map[string, bool]
	SnapshotPlans syncmap.Map[string, string]
	// claims are those that this process holds for its user, by ID, from one call
	// of Terraform to the next; see [Backend.Hold].
	claims syncmap.Map[string, *claim.Claim]

	state    reconfigure.ProcessState
	clusters syncmap.Map[string, *Cluster] // by their endpoints
	guards   syncmap.Map[membership.ClusterID, *Guard]
	reported syncmap.Map[string, bool]
	// changes counts what this process has changed, in any cluster: several
	// [Cluster] may be the same one by other endpoints. A look from before a
	// change is worth nothing after it, however young it is: a data source that
	// depends on a member must see that member.
	changes atomic.Uint64
}

// From returns the Backend in the ProviderData of a configure request, nil while
// the provider is not configured yet (validation). The framework makes one such
// request for each resource that it begins to read, to plan or to apply.
func From(data any, diags *diag.Diagnostics) *Backend {
	b, ok := data.(*Backend)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T, want *backend.Backend; this is a bug in the provider", data))
	}
	if b != nil {
		b.Order.progressed()
	}
	return b
}

// FirstTime reports true once for each key: a warning that every resource of a
// cluster would repeat is worth reading once.
func (b *Backend) FirstTime(key string) bool {
	reported, _ := b.reported.Set(key, true)
	return !reported
}

// Configured is a configuration that this apply has made.
type Configured struct {
	Name string
	// InitialCluster is the one in the environment, which stays as it is.
	InitialCluster string
	// Token is that of the bootstrap, and Founders are those that form the cluster,
	// if it is still to be formed and they are known.
	Token    string
	Founders []string
}

// MissingFounders returns the founders of the cluster of a configuration for which
// this apply has made no configuration, nil if it has not made that one either. A
// plan cannot tell: their resources may be planned later, or be left out by
// -target.
func (b *Backend) MissingFounders(config string) (names []string) {
	of, _ := b.Configured.Get(config)
	made := map[string]bool{}
	for _, id := range b.Configured.Keys() {
		if c, _ := b.Configured.Get(id); c.Token == of.Token {
			made[c.Name] = true
		}
	}
	for _, name := range of.Founders {
		if !made[name] {
			names = append(names, name)
		}
	}
	return names
}

// Hold keeps a claim until [Backend.Release] with the same ID.
func (b *Backend) Hold(id string, c *claim.Claim) { b.claims.Set(id, c) }

// Release returns the claim that was kept under an ID, nil if there is none.
// It is the caller's then.
func (b *Backend) Release(id string) *claim.Claim {
	c, _ := b.claims.Get(id)
	b.claims.Delete(id)
	return c
}
