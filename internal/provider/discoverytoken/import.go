// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// imported is the content of an import ID.
type imported struct{ protocol, prefix, serviceURL, token, url string }

// ImportState implements [resource.ResourceWithImportState]. The ID is the
// token, after "prefix:" if the prefix is not the default, and after "v2:"
// before that for protocol v2. For a service it is "service:" and the URL that
// the service returned.
func (r *tokenResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	what, problem := parseImportID(req.ID)
	if problem != "" {
		report.Error(&resp.Diagnostics, text.New("Invalid import ID",
			"The ID %s. Import by token (\"3e86b59982e49066c5d813af1c2e2579\"), with its prefix before it where that is not /_etcd/registry (\"/my/registry:TOKEN\"), "+
				"and \"v2:\" before that with protocol v2; from a service by \"service:\" and the URL it gave.", problem))
		return
	}
	for name, value := range map[string]string{
		"id": what.token, "token": what.token, "prefix": what.prefix, "protocol": what.protocol, "service_url": what.serviceURL, "url": what.url,
	} {
		if value != "" {
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
}

// importID returns an ID that [parseImportID] reads, for v2 and v3.
func importID(protocol, prefix, token string) string {
	id := token
	if prefix != discovery.DefaultPrefix {
		id = prefix + ":" + id
	}
	if protocol != bootstrap.ProtocolV3 {
		id = protocol + ":" + id
	}
	return id
}

func parseImportID(id string) (what imported, problem string) {
	if tokenURL, found := strings.CutPrefix(id, bootstrap.ProtocolService+":"); found {
		at, err := discovery.ParseServiceURL(tokenURL)
		if err != nil {
			return what, "has a URL that " + err.Error()
		}
		return imported{
			protocol: bootstrap.ProtocolService, serviceURL: at.Base, token: at.Token, url: at.URL(),
		}, ""
	}
	what = imported{protocol: bootstrap.ProtocolV3, prefix: discovery.DefaultPrefix}
	for _, protocol := range []string{bootstrap.ProtocolV3, bootstrap.ProtocolV2} {
		if rest, found := strings.CutPrefix(id, protocol+":"); found {
			what.protocol, id = protocol, rest
			break
		}
	}
	what.token = id
	if prefix, token, found := strings.Cut(id, ":"); found {
		what.prefix, what.token = prefix, token
	}
	if p := discovery.PrefixProblem(what.prefix); p != "" {
		return what, "has a prefix that " + p
	}
	if p := discovery.TokenProblem(what.token); p != "" {
		return what, "has a token that " + p
	}
	return what, ""
}

// isImport reports whether the state holds only the values of an import ID.
func (m *model) isImport() bool { return m.Size.IsNull() }

// finishImport sets the rest from the discovery cluster, which must respond.
func (r *tokenResource) finishImport(ctx context.Context, state *model, status discovery.Status, err error, resp *resource.ReadResponse) {
	var bad *discovery.BadSizeError
	if errors.As(err, &bad) {
		report.Warn(&resp.Diagnostics, badSize(state.Token.ValueString(), bad))
	} else if err != nil {
		report.Error(&resp.Diagnostics, failure(importing, *state, err))
		return
	}
	state.fromPlace(ctx, state.place(), r.Backend.Settings.Endpoints, &resp.Diagnostics)
	state.fromStatus(ctx, status, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
}
