// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package backend holds what the provider passes to its resources and data
// sources: the connection settings, and what they share in one process
// (connections, locks, hints).
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

// Backend is created once for each configured provider.
type Backend struct {
	// Unknown is true if the provider's configuration holds values that are not
	// known yet (normal at plan, if the same apply creates the machines).
	// Resources must not connect then: reads keep the prior state and plan
	// checks are skipped.
	Unknown bool
	// Settings are the provider's own. If Endpoints is empty, each resource
	// must have its own, or fail with text.NoEndpoints.
	Settings connection.Settings
	// Lost is what the operator states for this Terraform run.
	Lost reconfigure.Statement
	// Run is what this run takes from its process.
	Run *Run
	// Pool holds the connections that this process shares.
	Pool *connection.Pool

	// Plan holds the actions of the current plan, as far as it has been made.
	Plan Plan
	// Applying is set when a change begins. From then on Terraform does not make a
	// plan, it only recomputes planned values.
	Applying atomic.Bool
	// Configured are the configurations that this apply has created, by ID.
	Configured syncmap.Map[string, Configured]
	// SnapshotFiles are the files of etcd_snapshot resources in the state, or just
	// deleted from it; the value is nil if a resource has created the file since.
	// SnapshotPlans maps each file of the plan to the resource that creates it.
	SnapshotFiles syncmap.Map[string, *membership.Backup]
	SnapshotPlans syncmap.Map[string, string]
	// claims are the claims that this process holds for its user, by ID, across
	// calls of Terraform; see [Backend.Hold].
	claims syncmap.Map[string, *claim.Claim]

	// Table holds what the current plan does to members.
	Table *Table

	state    reconfigure.ProcessState
	clusters syncmap.Map[string, *Cluster] // by their endpoints
	byID     syncmap.Map[membership.ClusterID, *Cluster]
	guards   syncmap.Map[membership.ClusterID, *Guard]
	reported syncmap.Map[string, bool]
	// changes counts the changes of this process in all clusters, because
	// several [Cluster] values may be the same cluster at different endpoints.
	// An observation from before a change is invalid after it, however recent
	// it is: a data source that depends on a member must see that member.
	changes atomic.Uint64
}

// From returns the Backend in the ProviderData of a configure request, nil if
// the provider is not configured yet (validation). The framework makes one such
// request for each resource that it begins to read, plan or apply.
func From(data any, diags *diag.Diagnostics) *Backend {
	b, ok := data.(*Backend)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T, want *backend.Backend; this is a bug in the provider", data))
	}
	return b
}

// FirstTime reports true once for each key, so that a warning about a cluster
// is not repeated for every resource.
func (b *Backend) FirstTime(key string) bool {
	reported, _ := b.reported.Set(key, true)
	return !reported
}

// Configured is a configuration that this apply has created.
type Configured struct {
	Name string
	// InitialCluster is the value in the environment, which does not change.
	InitialCluster string
	// Token is the token of the bootstrap. Founders are the initial members, if
	// they are known and the cluster does not exist yet.
	Token    string
	Founders []string
}

// MissingFounders returns the initial members of a configuration's cluster for
// which this apply has not created a configuration. It returns nil if it has
// not created that configuration either. A plan cannot check this: their
// resources may be planned later, or be excluded by -target.
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

// Hold stores a claim until [Backend.Release] with the same ID.
func (b *Backend) Hold(id string, c *claim.Claim) { b.claims.Set(id, c) }

// Release returns the claim stored under an ID, nil if there is none. The
// caller then owns it.
func (b *Backend) Release(id string) *claim.Claim {
	c, _ := b.claims.Get(id)
	b.claims.Delete(id)
	return c
}
