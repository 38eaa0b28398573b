// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package backend holds what the provider passes to its resources and data
// sources: the connection settings, and what they share in one process
// (connections, locks, hints).
package backend

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/user"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
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
	// InUse is what the operator states for this run of pending peer URLs.
	InUse []string
	// Run is what this run takes from its process.
	Run *Run
	// Pool holds the connections that this process shares.
	Pool *connection.Pool

	// Held are the claims that this process holds for its user, by ID, across
	// calls of Terraform.
	Held syncmap.Map[string, *claim.Claim]

	// Table holds the entries of the current walk of Terraform.
	Table Table

	state    reconfigure.ProcessState
	clusters syncmap.Map[string, *Cluster] // by their endpoints
	byID     syncmap.Map[membership.ClusterID, *Cluster]
	// changes counts the changes of this process in all clusters, because
	// several [Cluster] values may be the same cluster at different endpoints.
	// An observation from before a change is invalid after it, however recent
	// it is: a data source that depends on a member must see that member.
	changes atomic.Uint64
}

// FirstTime reports true once for each key, so that a warning about a cluster
// is not repeated for every resource.
func (b *Backend) FirstTime(key string) bool { return b.Table.firstTime(key) }

// Resource is the part that every resource has, and with it the list of such resources.
type Resource struct {
	// Type is the type after "etcd", such as "_member".
	Type string
	// Backend is nil if the provider is not configured yet (validation).
	Backend *Backend
}

// Metadata implements [resource.Resource].
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.Type
}

// Configure implements [resource.ResourceWithConfigure].
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.Backend = From(req.ProviderData, &resp.Diagnostics)
}

// DataSource is the part that every data source has; see [Resource].
type DataSource Resource

// Metadata implements [datasource.DataSource].
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + d.Type
}

// Configure implements [datasource.DataSourceWithConfigure].
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.Backend = From(req.ProviderData, &resp.Diagnostics)
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

// Run is what a run of the provider takes from the process that it runs in, except
// for files and connections. Tests have several runs in one process, in simulated
// time.
type Run struct {
	// Clock is the time of every wait.
	Clock clock.Clock
	// Getenv returns an environment variable.
	Getenv func(name string) string
	// Random is the source of tokens and IDs.
	Random io.Reader
	// Self identifies the run to the runs that wait for its locks.
	Self func() claim.Holder
}

// NewRun returns the run of this process.
func NewRun() *Run {
	r := &Run{Clock: clock.System{}, Getenv: os.Getenv, Random: rand.Reader}
	// The lookup of a user can take time, and most calls need no lock.
	r.Self = sync.OnceValue(r.self)
	return r
}

func (r *Run) self() claim.Holder {
	who, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return claim.Holder{Who: who + "@" + host, PID: os.Getpid(), Run: r.UUID()}
}

// ID returns a random ID.
func (r *Run) ID() string {
	id := make([]byte, 8)
	if _, err := io.ReadFull(r.Random, id); err != nil {
		panic(err) // the system has no random numbers
	}
	return hex.EncodeToString(id)
}

// UUID returns a random UUID.
func (r *Run) UUID() string { return uuid.Must(uuid.NewRandomFromReader(r.Random)).String() }
