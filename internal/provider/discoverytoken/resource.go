// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package discoverytoken implements the resource etcd_discovery_token: one
// bootstrap, identified by a token in a discovery cluster or discovery service.
package discoverytoken

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// The limits of the operations, each for all endpoints together.
const (
	createLimit = time.Minute
	readLimit   = 20 * time.Second
	deleteLimit = 30 * time.Second
)

// The operations, as the end of "Cannot …".
const (
	creating  = "create the token"
	reading   = "read the token"
	removing  = "remove the token"
	importing = "import the token"
)

// typeSuffix is the type of the resource and of the data source after "etcd".
const typeSuffix = "_discovery_token"

// tokenResource implements etcd_discovery_token.
type tokenResource struct{ backend.Resource }

// NewResource returns the resource etcd_discovery_token.
func NewResource() resource.Resource {
	return &tokenResource{backend.Resource{Type: typeSuffix}}
}

// openRegistry returns the discovery cluster or service of a token, unconnected.
func openRegistry(b *backend.Backend, m model) discovery.Registry {
	switch {
	case m.is(bootstrap.ProtocolV2):
		return discovery.NewV2(b.Settings, m.Prefix.ValueString(), b.Pool)
	case m.is(bootstrap.ProtocolService):
		return discovery.NewService(b.Settings, m.ServiceURL.ValueString(), b.Pool)
	default:
		return discovery.NewV3(b.Settings, m.Prefix.ValueString(), b.Pool)
	}
}

var (
	_ resource.ResourceWithConfigure      = (*tokenResource)(nil)
	_ resource.ResourceWithImportState    = (*tokenResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*tokenResource)(nil)
	_ resource.ResourceWithValidateConfig = (*tokenResource)(nil)
)

// Create implements [resource.Resource]. If it is not known whether the token
// was written, it still goes into the state, with a warning: an error would
// leave no state, and the next apply would create a second token.
func (r *tokenResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.hasEndpoints(plan, &resp.Diagnostics) {
		return
	}
	token := plan.Token.ValueString()
	if plan.Token.IsUnknown() && !plan.is(bootstrap.ProtocolService) {
		var err error
		if token, err = discovery.NewToken(r.Backend.Run.Random); err != nil {
			report.Error(&resp.Diagnostics, text.DiscoveryFailed(creating, err))
			return
		}
	}
	unsure := r.write(ctx, &plan, token, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	private.Keep(ctx, resp.Private, keptKey, kept{Unsure: unsure, Least: plan.size()}, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// write creates a token as planned, and reports whether its outcome is unsure.
// A service chooses the name of the token itself.
func (r *tokenResource) write(ctx context.Context, plan *model, token string, diags *diag.Diagnostics) (unsure bool) {
	call, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	place, err := openRegistry(r.Backend, *plan).Create(call, token, plan.size())
	var exists *discovery.ExistsError
	var uncertain *discovery.UnsureError
	var others *discovery.OthersError
	switch {
	case err == nil:
	case errors.As(err, &exists):
		prefix := plan.Prefix.ValueString()
		report.ErrorOn(diags, "token", text.DiscoveryTokenExists(token, prefix, exists.Size, importID(plan.Protocol.ValueString(), prefix, "TOKEN")))
		return false
	case errors.As(err, &others):
		report.ErrorOn(diags, "token", text.DiscoveryOccupied(token, plan.Prefix.ValueString(), others.Error()))
		return false
	case errors.As(err, &uncertain):
		unsure, place = true, uncertain.Place
		report.Warn(diags, text.DiscoveryUnsure(token, err))
	default:
		report.Error(diags, failure(creating, *plan, err))
		return false
	}
	plan.fromPlace(ctx, place, r.Backend.Settings.Endpoints, diags)
	plan.fromStatus(ctx, discovery.Status{Size: plan.size()}, diags)
	return unsure
}

// Read implements [resource.Resource]. It does not read a complete token again:
// it can no longer change, and the discovery cluster may be gone.
func (r *tokenResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || state.Complete.ValueBool() || r.Backend.Unknown {
		return
	}
	k := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	call, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	token := state.Token.ValueString()
	status, err := openRegistry(r.Backend, state).Status(call, token)
	if state.isImport() {
		r.finishImport(ctx, &state, status, err, resp)
		return
	}
	var bad *discovery.BadSizeError
	switch {
	case err == nil:
		if made := state.size(); status.Size != made {
			report.Warn(&resp.Diagnostics, text.DiscoverySizeOverwritten(token, status.Size, made))
			k.Least = min(k.least(&state), status.Size)
		}
		k.Unsure, k.Unwritten = false, false
	case errors.As(err, &bad):
		report.Warn(&resp.Diagnostics, text.DiscoverySizeBad(token, bad.Value))
		k.Least = k.least(&state)
	case errors.Is(err, discovery.ErrNotFound) && k.Unsure:
		k.Unwritten = true
	case errors.Is(err, discovery.ErrNotFound):
		// It may have been complete before, so it stays in the state.
		report.Warn(&resp.Diagnostics, text.DiscoveryVanished(token, state.Prefix.ValueString(), state.size()))
	case errors.Is(err, discovery.ErrNoToken):
		report.Warn(&resp.Diagnostics, text.DiscoveryServiceNoToken(token, state.ServiceURL.ValueString()))
	default:
		report.Warn(&resp.Diagnostics, text.DiscoveryReadSkipped(token, err))
	}
	private.Keep(ctx, resp.Private, keptKey, k, &resp.Diagnostics)
	if err != nil && bad == nil {
		return // nothing is known of the token
	}
	before := state
	state.fromStatus(ctx, status, &resp.Diagnostics)
	if !reflect.DeepEqual(state, before) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

// Update implements [resource.Resource]. It writes to the discovery cluster
// only if the creation was unsure and the token is missing.
func (r *tokenResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	k := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Members.IsUnknown() {
		plan.Members = state.Members
	}
	if k.Unwritten {
		if !r.hasEndpoints(plan, &resp.Diagnostics) {
			return
		}
		unsure := r.write(ctx, &plan, plan.Token.ValueString(), &resp.Diagnostics)
		if resp.Diagnostics.HasError() {
			return
		}
		k.Unsure, k.Unwritten = unsure, false
		private.Keep(ctx, resp.Private, keptKey, k, &resp.Diagnostics)
	}
	if plan.Environment.IsUnknown() {
		plan.fromPlace(ctx, plan.place(), r.Backend.Settings.Endpoints, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete implements [resource.Resource]. It never blocks a destroy because a
// discovery cluster is gone.
func (r *tokenResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	k := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	call, cancel := context.WithTimeout(ctx, deleteLimit)
	defer cancel()
	registry, token := openRegistry(r.Backend, state), state.Token.ValueString()

	// The members do not matter if nothing is removed and nothing is refused.
	var status discovery.Status
	var err error
	if !state.is(bootstrap.ProtocolService) || !k.Removal {
		status, err = registry.Status(call, token)
	}
	if !k.Removal && !r.mayGo(ctx, k, &state, status, err, &resp.Diagnostics) {
		return
	}
	if !errors.As(err, new(*connection.Unreachable)) && !connection.IsDenied(err) {
		err = registry.Delete(call, token)
	}
	if others, ok := errors.AsType[*discovery.OthersError](err); ok {
		report.Warn(&resp.Diagnostics, text.DiscoveryLeft(token, state.Prefix.ValueString(), others.Error()))
		err = nil
	}
	switch {
	case err == nil || errors.Is(err, discovery.ErrNotFound):
		if !status.Complete() && len(status.Members) > 0 && !state.Complete.ValueBool() {
			report.Warn(&resp.Diagnostics, text.DiscoveryDestroyIncomplete(token, state.size(), names(status.Members)))
		}
	case errors.Is(err, discovery.ErrKept):
		report.Warn(&resp.Diagnostics, text.DiscoveryKept(token, state.ServiceURL.ValueString()))
	case errors.As(err, new(*connection.Unreachable)):
		if ctx.Err() != nil {
			// The user interrupted it: the token stays in the state.
			report.Error(&resp.Diagnostics, failure(removing, state, err))
			return
		}
		report.Warn(&resp.Diagnostics, text.DiscoveryForgotten(token, state.Prefix.ValueString(), err))
	default:
		report.Error(&resp.Diagnostics, failure(removing, state, err))
	}
}

// hasEndpoints reports whether there is a discovery cluster or service to
// connect to, and adds an error if there is none.
func (r *tokenResource) hasEndpoints(m model, diags *diag.Diagnostics) bool {
	if m.is(bootstrap.ProtocolService) || len(r.Backend.Settings.Endpoints) > 0 {
		return true
	}
	report.Error(diags, text.DiscoveryNoEndpoints)
	return false
}

// failure returns the message for an error after which nothing has changed.
func failure(doing string, m model, err error) text.Message {
	var denied *connection.Error
	var service *discovery.ServiceError
	var bad *discovery.BadSizeError
	token, prefix := m.Token.ValueString(), m.Prefix.ValueString()
	switch {
	case (doing == reading || doing == importing) && errors.Is(err, discovery.ErrNotFound):
		return text.DiscoveryMissing(token, prefix)
	case doing == reading && errors.As(err, &bad):
		return text.DiscoveryDataSizeBad(token, bad.Value)
	case errors.As(err, &service):
		return text.DiscoveryServiceFailed(doing, service.Error(), doing == creating, service.Status == http.StatusTooManyRequests)
	case connection.IsDenied(err) && errors.As(err, &denied):
		permission := "readwrite"
		if doing == reading {
			permission = "read"
		}
		return text.DiscoveryDenied(doing, denied.Error(), permission, prefix)
	case errors.As(err, new(*connection.Unreachable)):
		return text.DiscoveryUnreachable(doing, err)
	default:
		return text.DiscoveryFailed(doing, err)
	}
}
