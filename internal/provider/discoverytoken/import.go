// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ImportState implements [resource.ResourceWithImportState]. The ID is the
// token, after "prefix:" if the prefix is not the default, and after "v2:"
// before that for protocol v2. For a service it is "service:" and the URL that
// the service returned.
func (r *tokenResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	at, problem := parseImportID(req.ID)
	if problem != "" {
		report.Error(&resp.Diagnostics, text.New("Invalid import ID",
			"The ID %s. Import by token (\"3e86b59982e49066c5d813af1c2e2579\"), with its prefix before it where that is not /_etcd/registry (\"/my/registry:TOKEN\"), "+
				"and \"v2:\" before that with protocol v2; from a service by \"service:\" and the URL it gave.", problem))
		return
	}
	url := ""
	if at.Protocol == discovery.ByService {
		url = at.URL()
	}
	for name, value := range map[string]string{
		"id": at.Token, "token": at.Token, "prefix": at.Prefix, "protocol": at.Protocol, "service_url": at.Base, "url": url,
	} {
		if value != "" {
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
}

// importID returns an ID that [parseImportID] reads, for v2 and v3.
func importID(at discovery.Location) string {
	id := at.Token
	if at.Prefix != discovery.DefaultPrefix {
		id = at.Prefix + ":" + id
	}
	if at.Protocol != discovery.V3 {
		id = at.Protocol + ":" + id
	}
	return id
}

func parseImportID(id string) (at discovery.Location, problem string) {
	if tokenURL, found := strings.CutPrefix(id, discovery.ByService+":"); found {
		at, err := discovery.ParseURL(tokenURL)
		switch {
		case err != nil:
			return at, "has a URL that " + err.Error()
		case at.Protocol != discovery.ByService:
			return at, "has a URL of the v2 API, and not of a service"
		}
		return at, ""
	}
	at = discovery.Location{Protocol: discovery.V3, Prefix: discovery.DefaultPrefix}
	for _, protocol := range []string{discovery.V3, discovery.V2} {
		if rest, found := strings.CutPrefix(id, protocol+":"); found {
			at.Protocol, id = protocol, rest
			break
		}
	}
	at.Token = id
	if prefix, token, found := strings.Cut(id, ":"); found {
		at.Prefix, at.Token = prefix, token
	}
	if p := discovery.PrefixProblem(at.Prefix); p != "" {
		return at, "has a prefix that " + p
	}
	if p := discovery.TokenProblem(at.Token); p != "" {
		return at, "has a token that " + p
	}
	return at, ""
}
