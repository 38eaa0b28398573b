// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package backend is what the provider hands to its resources and data
// sources: the connection settings, and what is shared between them in one
// process (connections, locks, hints).
package backend

import (
	"fmt"
	"sync"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Backend is made once for each configured provider.
type Backend struct {
	// Unknown is true while the provider's configuration holds values that are
	// not known yet (normal at plan, when the machines are made in the same
	// apply). Nothing may be dialled then: reads keep the prior state and plan
	// checks are skipped.
	Unknown bool
	// Settings are the provider's own. Endpoints may be empty: then each
	// resource must bring its own, or fail with diag.NoEndpoints.
	Settings connection.Settings
	// ForceDestroy makes every member that is destroyed for good do what its own
	// force_destroy does.
	ForceDestroy bool
	// Pool holds the connections that everything in this process shares.
	Pool *connection.Pool

	clusters clusters
	held     held
	replaced replacedBootstraps
	said     sync.Map
	founding founding
}

// From returns the Backend in the ProviderData of a configure request, nil while
// the provider is not configured yet (validation).
func From(data any, diags *fwdiag.Diagnostics) *Backend {
	b, ok := data.(*Backend)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T, want *backend.Backend; this is a bug in the provider", data))
	}
	return b
}
