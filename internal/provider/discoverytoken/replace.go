// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// A token may be replaced, or changed in what its machines are given, only
// while it is known that its cluster has not formed; and only the registry
// knows that. What the state says may be behind, and a registry that does not
// answer says nothing.

// record is the token that the first plan of a resource finds in the state. It
// is left in the private data, where the second plan of a replacement, which
// is made without a prior state, finds it. A taint leaves none, nor does the
// creation at apply: they look like a first creation.
type record struct {
	Token      string   `json:"token"`
	Protocol   string   `json:"protocol"`
	Prefix     string   `json:"prefix"`
	ServiceURL string   `json:"service_url"`
	Complete   bool     `json:"complete"`
	Least      int      `json:"least"`
	Members    []string `json:"members"`
}

// recordOf describes the token of a state. least is what [leastSize] gave.
func recordOf(ctx context.Context, m *model, least int, diags *diag.Diagnostics) record {
	var members []memberModel
	diags.Append(m.Members.ElementsAs(ctx, &members, true)...)
	r := record{
		Token: m.Token.ValueString(), Protocol: m.Protocol.ValueString(), Prefix: m.Prefix.ValueString(),
		ServiceURL: m.ServiceURL.ValueString(), Complete: m.Complete.ValueBool(), Least: least,
	}
	for _, member := range members {
		r.Members = append(r.Members, member.Name.ValueString())
	}
	return r
}

// model is the record as a registry is opened by.
func (r record) model() model {
	return model{
		Protocol: types.StringValue(r.Protocol), Prefix: types.StringValue(r.Prefix), ServiceURL: types.StringValue(r.ServiceURL),
	}
}

// mayChange asks the registry whether a plan may do that to the token: it may
// if its cluster is known not to have formed. doing is "replace" or "change".
func (r *tokenResource) mayChange(ctx context.Context, doing string, was record, diags *diag.Diagnostics) bool {
	if was.Complete {
		report.Error(diags, text.DiscoveryBootstrapped(doing, was.Members))
		return false
	}
	m := was.model()
	if r.backend == nil || r.backend.Unknown && !m.is(bootstrap.ProtocolService) {
		report.Error(diags, text.DiscoveryMayHaveFormed(doing, text.DiscoveryEndpointsLater))
		return false
	}
	if !m.is(bootstrap.ProtocolService) && len(r.backend.Settings.Endpoints) == 0 {
		report.Error(diags, text.DiscoveryMayHaveFormed(doing, text.DiscoveryNoEndpoints.Detail))
		return false
	}
	call, cancel := context.WithTimeout(ctx, defaultRead)
	defer cancel()
	status, err := r.open(r.backend, m).Status(call, was.Token)
	log.Debug(ctx, log.Discovery, "checked whether the token may be replaced", "doing", doing, "registered", len(status.Members), "size", status.Size, "error", err)
	return was.unformed(doing, status, err, text.DiscoveryBootstrapped(doing, names(status.Members)), diags)
}

// mayGo reports whether a token may be removed as a part of a replacement, by
// what the registry answered. A plan of a complete one is refused, but a taint
// gets here, because its plan cannot be told from a first creation.
func (r *tokenResource) mayGo(ctx context.Context, kept private.Reader, m *model, status discovery.Status, err error, diags *diag.Diagnostics) bool {
	was := recordOf(ctx, m, leastSize(ctx, kept, m, diags), diags)
	if was.Complete {
		report.Error(diags, text.DiscoveryBootstrapped("replace", was.Members))
		return false
	}
	return was.unformed("replace", status, err, text.DiscoveryCompleted(was.Token, names(status.Members)), diags)
}

// unformed reports whether the registry's answer shows that the cluster has not
// formed. formed words that it has.
func (r record) unformed(doing string, status discovery.Status, err error, formed text.Message, diags *diag.Diagnostics) bool {
	switch discovery.Judge(status, err, r.Least) {
	case discovery.Unformed:
		return true
	case discovery.Formed:
		report.Error(diags, formed)
	default:
		report.Error(diags, text.DiscoveryMayHaveFormed(doing, whyUnknown(status, err, r.Least)))
	}
	return false
}

// whyUnknown is what the registry answered instead of evidence.
func whyUnknown(status discovery.Status, err error, least int) string {
	switch {
	case errors.Is(err, discovery.ErrNotFound), errors.Is(err, discovery.ErrNoToken):
		return text.DiscoveryTokenGone
	case err == nil, errors.As(err, new(*discovery.BadSizeError)):
		return text.DiscoverySizeDoubtful(least, names(status.Members))
	default:
		return text.DiscoverySilent(err)
	}
}

// leastSize is the least size that a token in state is known to have had.
func leastSize(ctx context.Context, kept private.Reader, m *model, diags *diag.Diagnostics) int {
	before := private.Kept[int](ctx, kept, keyLeast, diags)
	switch {
	case before <= 0:
		return m.size()
	case m.size() == 0:
		return before // the size in the registry is not a number
	}
	return min(before, m.size())
}
