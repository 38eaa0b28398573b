// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package discoverytoken implements the resource etcd_discovery_token: one
// bootstrap, identified by a token in a discovery cluster or discovery service.
package discoverytoken

import (
	"context"
	"errors"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// The operations, as the end of "Cannot …".
const (
	creating  = "create the token"
	reading   = "read the token"
	removing  = "remove the token"
	importing = "import the token"
)

// tokenResource implements etcd_discovery_token.
type tokenResource struct{ backend.Resource }

// NewResource returns the resource etcd_discovery_token.
func NewResource() resource.Resource {
	return &tokenResource{backend.Resource{Type: "_discovery_token"}}
}

// Create implements [resource.Resource]. If it is not known whether the token
// was written, it still goes into the state, with a warning: an error would
// leave no state, and the next apply would create a second token.
func (r *tokenResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.write(ctx, &plan, kept{Least: plan.size()}, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// write creates a token as planned, under its name if it has one, and keeps whether the
// outcome is unsure. A service chooses the name of the token itself.
func (r *tokenResource) write(ctx context.Context, plan *model, k kept, to private.Writer, diags *diag.Diagnostics) {
	isService := plan.is(discovery.ByService)
	if !isService && len(r.Backend.Settings.Endpoints) == 0 {
		report.Error(diags, noEndpoints)
		return
	}
	token := plan.Token.ValueString()
	if token == "" && !isService { // of 32 hexadecimal digits, like those of the public service
		token = r.Backend.Run.ID() + r.Backend.Run.ID()
	}
	at, err := discovery.Open(r.Backend.Settings, r.Backend.Pool, plan.location()).Create(ctx, token, plan.size())
	k.Unsure, k.Unwritten = errors.As(err, new(*discovery.UnsureError)), false
	var others *discovery.OthersError
	switch {
	case errors.As(err, new(*discovery.ExistsError)):
		imported := plan.location()
		imported.Token = "TOKEN"
		report.ErrorOn(diags, "token", text.New("The discovery token exists already",
			"Token %.8s is in the discovery cluster under %s. A token serves one cluster only, so it is not adopted. Nothing was changed. "+
				"If it is yours, import it with the ID %q, with the token in place of TOKEN. Otherwise apply again: the provider makes another token.",
			token, imported.Prefix, importID(imported)))
		return
	case errors.As(err, &others):
		report.ErrorOn(diags, "token", text.New("The discovery token's place is not empty",
			"Below %s/%.8s/ %v. A token is created only where no other key exists. Nothing was changed. "+
				"Choose another prefix, or apply again: the provider makes another token.", plan.Prefix.ValueString(), token, others))
		return
	case k.Unsure:
		report.Warn(diags, text.New("Not known whether the token was written",
			"The discovery cluster took the request for token %.8s and did not answer. The token is kept in the state, so that no second one is made. "+
				"The next plan looks for it, and the next apply writes it if it is missing.%s", token, text.Answers(err)))
	case err != nil:
		report.Error(diags, failure(creating, plan.location(), err))
		return
	}
	plan.Token, plan.URL = types.StringValue(at.Token), types.StringValue(at.URL())
	plan.fromStatus(ctx, discovery.Status{Size: plan.size()}, diags)
	plan.fromLocation(ctx, r.Backend.Settings.Endpoints, diags)
	private.Keep(ctx, to, keptKey, k, diags)
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
	token := state.Token.ValueString()
	status, err := discovery.Open(r.Backend.Settings, r.Backend.Pool, state.location()).Status(ctx, token)
	imported := state.Size.IsNull() // the state holds only the values of an import ID
	bad, isBad := errors.AsType[*discovery.BadSizeError](err)
	switch {
	case err == nil:
		if made := state.size(); status.Size != made && !imported {
			report.Warn(&resp.Diagnostics, text.New("The size of the discovery token was changed",
				"Token %.8s was made for size %d and says %d now. Members go by what it says. As long as fewer than both have registered, the plan replaces the token. "+
					"Find out which program writes to the discovery cluster.", token, made, status.Size))
			k.Least = min(k.least(&state), status.Size)
		}
		k.Unsure, k.Unwritten = false, false
	case isBad:
		report.Warn(&resp.Diagnostics, badSize(token, bad))
		k.Least = k.least(&state)
	case imported:
		report.Error(&resp.Diagnostics, failure(importing, state.location(), err))
		return
	case errors.Is(err, discovery.ErrNotFound) && k.Unsure:
		k.Unwritten = true
	case errors.Is(err, discovery.ErrNotFound):
		// It may have been complete before, so it stays in the state.
		report.Warn(&resp.Diagnostics, text.New("Discovery token removed from the discovery cluster",
			"Token %.8s is no longer under %s, and was not complete at the last refresh. "+keptToken, token, state.Prefix.ValueString()))
	case errors.Is(err, discovery.ErrNoToken):
		report.Warn(&resp.Diagnostics, text.New("The discovery service cannot find the token",
			"%s answers \"unable to GET token\" for token %.8s. It says so of a token that it has deleted, and also while its own storage fails. "+keptToken,
			state.ServiceURL.ValueString(), token))
	default:
		report.Warn(&resp.Diagnostics, text.New("Discovery token not checked", "What the state says of token %.8s is kept as it is.%s", token, text.Answers(err)))
	}
	private.Keep(ctx, resp.Private, keptKey, k, &resp.Diagnostics)
	if err != nil && !isBad {
		return // nothing is known of the token
	}
	if imported {
		state.fromLocation(ctx, r.Backend.Settings.Endpoints, &resp.Diagnostics)
	}
	state.fromStatus(ctx, status, &resp.Diagnostics)
	state.setBootstrap()
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
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
		r.write(ctx, &plan, k, resp.Private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Environment.IsUnknown() {
		plan.fromLocation(ctx, r.Backend.Settings.Endpoints, &resp.Diagnostics)
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
	registry, token := discovery.Open(r.Backend.Settings, r.Backend.Pool, state.location()), state.Token.ValueString()

	// The members do not matter if nothing is removed and nothing is refused.
	var status discovery.Status
	var err error
	if !state.is(discovery.ByService) || !k.Removal {
		status, err = registry.Status(ctx, token)
	}
	if !k.Removal && !recordOf(ctx, &state, k.least(&state), &resp.Diagnostics).unformed("replace", status, err, &resp.Diagnostics) {
		return
	}
	if !errors.As(err, new(*connection.Unreachable)) && !connection.IsDenied(err) {
		err = registry.Delete(ctx, token)
	}
	if others, ok := errors.AsType[*discovery.OthersError](err); ok {
		report.Warn(&resp.Diagnostics, text.New("Keys were left below the discovery token",
			"Token %.8[1]s and its registrations are gone from the discovery cluster. Below %[2]s/%.8[1]s/ %[3]v. They were not created with the token and were not deleted.",
			token, state.Prefix.ValueString(), others))
		err = nil
	}
	switch {
	case err == nil || errors.Is(err, discovery.ErrNotFound):
		if !status.Complete() && len(status.Members) > 0 && !state.Complete.ValueBool() {
			report.Warn(&resp.Diagnostics, text.New("Removed an incomplete discovery token",
				"Token %.8s waited for %d initial members. Registered: %s. A process of theirs that still runs never forms this cluster: stop it, and empty its data directory.",
				token, state.size(), names(status.Members)))
		}
	case errors.Is(err, discovery.ErrKept):
		report.Warn(&resp.Diagnostics, forgotten(token, state.ServiceURL.ValueString(), "A discovery service does not delete tokens on request.", nil))
	case errors.As(err, new(*connection.Unreachable)) && ctx.Err() == nil:
		report.Warn(&resp.Diagnostics, forgotten(token, state.Prefix.ValueString(), "The discovery cluster does not answer.", err))
	default: // also if the user interrupted it: the token stays in the state
		report.Error(&resp.Diagnostics, failure(removing, state.location(), err))
	}
}

// failure returns the message for an error after which nothing has changed.
func failure(doing string, at discovery.Location, err error) text.Message {
	var service *discovery.ServiceError
	var bad *discovery.BadSizeError
	switch {
	case (doing == reading || doing == importing) && errors.Is(err, discovery.ErrNotFound):
		return text.New("No such discovery token", "The discovery cluster answers and has no token %.8s under %s.", at.Token, at.Prefix)
	case doing == reading && errors.As(err, &bad):
		return badSize(at.Token, bad)
	case errors.As(err, &service):
		advice := "Nothing was changed."
		switch {
		case service.Status == http.StatusTooManyRequests:
			advice = "It limits how often it may be asked: wait as long as Retry-After says (in seconds, unless it is a date), then apply again."
		case doing == creating:
			advice = "It is not asked again in this run, because every request makes another token. Apply again to ask once more."
		}
		return text.New("The discovery service gave no usable answer", "Cannot %s: %v. %s", doing, service, advice)
	}
	permission := "readwrite"
	if doing == reading {
		permission = "read"
	}
	return text.Failed(doing, permission, at.Prefix, err)
}

// noEndpoints is the error if the provider has no discovery endpoints.
var noEndpoints = text.New("No discovery cluster to ask",
	"The provider of this resource has no endpoints. Set endpoints in the provider block that the resource uses, or the environment variable ETCDCTL_ENDPOINTS, "+
		"to the client URLs of the etcd that holds the token.")

// keptToken is why a token that is gone stays in the state.
const keptToken = "It is kept in the state, because the cluster may have formed. If it has formed, no action is needed. " +
	"If it has not, members that wait on the token cannot form it.\n\nIf the cluster never formed, or is gone for good" + text.StartOver

func badSize(token string, bad *discovery.BadSizeError) text.Message {
	return text.New("Discovery token has an invalid size",
		"Token %.8s says %q where its size should be. Members that start with it exit with \"discovery: size key is bad\". "+
			"The plan of its resource replaces the token, unless all may have registered before.", token, bad.Value)
}

// forgotten is the warning for a token that outlives its resource, which is removed from
// the state. err, if there is one, has the answers of the endpoints.
func forgotten(token, at, why string, err error) text.Message {
	return text.New("Discovery token forgotten, not removed", why+" Token %.8s is only removed from the state. It stays at %s, and does no harm.%s", token, at, text.Answers(err))
}
