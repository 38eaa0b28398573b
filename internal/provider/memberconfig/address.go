// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// The values of scheme.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https" // the default
)

// where holds the arguments of a configuration that give the addresses of its member.
type where struct {
	address, scheme      types.String
	peerURLs, clientURLs types.Set
}

func whereOf(ctx context.Context, config interface {
	GetAttribute(context.Context, path.Path, any) diag.Diagnostics
}) (w where, diags diag.Diagnostics) {
	for name, to := range map[string]any{"address": &w.address, "scheme": &w.scheme, "peer_urls": &w.peerURLs, "client_urls": &w.clientURLs} {
		diags.Append(config.GetAttribute(ctx, path.Root(name), to)...)
	}
	return w, diags
}

// peers returns the peer URLs: those given, or those derived from the address. They
// are null if neither is given, and unknown if the address or the scheme is.
func (w where) peers() types.Set {
	switch {
	case !w.peerURLs.IsNull():
		return w.peerURLs
	case w.address.IsNull():
		return types.SetNull(types.StringType)
	case w.address.IsUnknown() || w.scheme.IsUnknown():
		return types.SetUnknown(types.StringType)
	}
	scheme := schemeHTTPS
	if !w.scheme.IsNull() {
		scheme = w.scheme.ValueString()
	}
	url, err := membership.URLAt(scheme, w.address.ValueString(), membership.PeerPort)
	if err != nil {
		return types.SetNull(types.StringType) // the validator refuses it
	}
	return attribute.SetOf([]string{url})
}

// clients returns the client URLs: those given, or the peer URLs with the
// standard port for clients.
func (w where) clients() types.Set {
	if !w.clientURLs.IsNull() {
		return w.clientURLs
	}
	peers := w.peers()
	if peers.IsNull() {
		return peers
	}
	if attribute.SomeUnknown(peers) {
		return types.SetUnknown(types.StringType)
	}
	var urls []string
	for _, peer := range attribute.Texts(peers) {
		url, err := membership.WithPort(peer, membership.ClientPort)
		if err == nil && !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	return attribute.SetOf(urls) // null for peer URLs that the validator refuses
}

// derived plans the URLs that the configuration does not give.
type derived struct {
	attribute.Described
	urls func(where) types.Set
}

// PlanModifySet implements planmodifier.Set.
func (d derived) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	w, diags := whereOf(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	resp.PlanValue = d.urls(w)
}

func addressAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "IP address or host name at which other members and clients reach the member, without scheme and port, such as `10.0.1.10` or `fd00::a`. A short form for `peer_urls` " +
			"with port 2380, and for `client_urls` with port 2379 unless they are set. It cannot be combined with `peer_urls`. A change that changes the URLs replaces the " +
			"configuration.",
		Validators: []validator.String{addressValidator(), stringvalidator.ConflictsWith(path.MatchRoot("peer_urls"))},
	}
}

func schemeAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Scheme of the URLs that follow from `address`. Only with `address`. Default: `https`. Allowed: `https`, `http`.",
		Validators:          []validator.String{stringvalidator.OneOf(schemeHTTPS, schemeHTTP), stringvalidator.AlsoRequires(path.MatchRoot("address"))},
	}
}

// addressValidator checks the address at which other processes reach the member.
func addressValidator() validator.String {
	return attribute.Checked("must be an IP address or a host name, without scheme and port", func(_, value string) *text.Message {
		_, err := membership.URLAt(schemeHTTPS, value, membership.PeerPort)
		if bad, ok := errors.AsType[*membership.URLError](err); ok {
			return new(text.InvalidAddress(bad))
		}
		return nil
	})
}
