// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package backend is what the provider hands to its resources and data
// sources: the connection settings, and what is shared between them in one
// process (connections, locks, hints).
package backend

import (
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/resource"

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

// ForResource returns the Backend in a resource's configure request, nil while
// the provider is not configured yet (validation).
func ForResource(req resource.ConfigureRequest, resp *resource.ConfigureResponse) *Backend {
	b, err := from(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
	}
	return b
}

// ForDataSource is [ForResource] for data sources.
func ForDataSource(req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) *Backend {
	b, err := from(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
	}
	return b
}

// ForEphemeral is [ForResource] for ephemeral resources.
func ForEphemeral(req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) *Backend {
	b, err := from(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
	}
	return b
}

// ForAction is [ForResource] for actions.
func ForAction(req action.ConfigureRequest, resp *action.ConfigureResponse) *Backend {
	b, err := from(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
	}
	return b
}

func from(data any) (*Backend, error) {
	if data == nil {
		return nil, nil
	}
	b, ok := data.(*Backend)
	if !ok {
		return nil, fmt.Errorf("got %T, want *backend.Backend; this is a bug in the provider", data)
	}
	return b, nil
}
