// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	text "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// ImportState implements [resource.ResourceWithImportState]. The ID is the
// token, with "prefix:" before it where the prefix is not the default one.
func (r *tokenResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	prefix, token, problem := parseImportID(req.ID)
	if problem != "" {
		fault(&resp.Diagnostics, text.DiscoveryImportID(req.ID, problem))
		return
	}
	for name, value := range map[string]string{
		"id": token, "token": token, "prefix": prefix, "protocol": bootstrap.ProtocolV3,
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
}

// importID is what [parseImportID] reads.
func importID(prefix, token string) string {
	if prefix == discovery.DefaultPrefix {
		return token
	}
	return prefix + ":" + token
}

func parseImportID(id string) (prefix, token, problem string) {
	prefix, token = discovery.DefaultPrefix, id
	if before, after, found := strings.Cut(id, ":"); found {
		prefix, token = before, after
	}
	if p := discovery.PrefixProblem(prefix); p != "" {
		return "", "", "has a prefix that " + string(p)
	}
	if p := discovery.TokenProblem(token); p != "" {
		return "", "", "has a token that " + string(p)
	}
	return prefix, token, ""
}

// isImport tells a state that holds nothing yet but what the import ID says.
func (m *model) isImport() bool { return m.Size.IsNull() }

// finishImport fills in the rest from the registry, which must answer.
func (r *tokenResource) finishImport(ctx context.Context, state *model, status discovery.Status, err error, resp *resource.ReadResponse) {
	token := state.Token.ValueString()
	var bad *discovery.BadSizeError
	switch {
	case errors.Is(err, discovery.ErrNotFound):
		fault(&resp.Diagnostics, text.DiscoveryImportMissing(token, state.Prefix.ValueString()))
		return
	case errors.As(err, &bad):
		warn(&resp.Diagnostics, text.DiscoverySizeBad(token, bad.Value))
	case err != nil:
		fault(&resp.Diagnostics, failure(importing, *state, err))
		return
	}
	resp.Diagnostics.Append(state.setPlace(ctx, discovery.Place{Token: token}, r.backend.Settings.Endpoints)...)
	resp.Diagnostics.Append(state.setStatus(ctx, status)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
}
