// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// clusterOf returns the cluster at the model's endpoints or the provider's. It
// is for a planned model, whose endpoints were validated.
func (m model) clusterOf(b *backend.Backend, diags *diag.Diagnostics) *backend.Cluster {
	c, err := b.At(attribute.Texts(m.Endpoints), diags)
	if err != nil {
		report.Error(diags, text.Explain(reconfigure.ActionReach, m.Name.ValueString(), err))
	}
	return c
}

// reach returns the cluster of a member in the state. A bad endpoint in the
// state must not block the removal of the member: reach skips an endpoint that
// cannot be used and returns it as bad. If none is left, it uses the provider's
// endpoints, then the client URLs at which the member was reached, which do not
// add a trusted host.
func (m model) reach(b *backend.Backend, diags *diag.Diagnostics) (c *backend.Cluster, bad *connection.EndpointError, err error) {
	var endpoints []string
	for _, e := range attribute.Texts(m.Endpoints) {
		if _, err := connection.ParseEndpoint(e, false); err == nil {
			endpoints = append(endpoints, e)
		} else if bad == nil {
			errors.As(err, &bad)
		}
	}
	c, err = b.At(endpoints, diags)
	if !errors.Is(err, cluster.ErrNoEndpoints) {
		return c, bad, err
	}
	var known []string
	for _, u := range attribute.Texts(m.ClientURLs) {
		if n, err := connection.ParseEndpoint(u, false); err == nil {
			known = append(known, n)
		}
	}
	switch {
	case len(known) > 0:
		c, err = b.Where(known), nil
	case bad != nil:
		err = bad
	}
	return c, bad, err
}

// listed returns the member in the state as its cluster listed it.
func (m model) listed() membership.Member {
	id, _ := membership.ParseMemberID(m.ID.ValueString())
	return membership.Member{ID: id, Name: m.Name.ValueString(), ClientURLs: attribute.Texts(m.ClientURLs)}
}

func (m model) ids(diags *diag.Diagnostics) (membership.MemberID, membership.ClusterID) {
	id, err := membership.ParseMemberID(m.ID.ValueString())
	cluster, err2 := membership.ParseClusterID(m.ClusterID.ValueString())
	if err := errors.Join(err, err2); err != nil {
		report.Error(diags, text.BadID(m.Name.ValueString(), err))
	}
	return id, cluster
}

// asWarnings turns errors into warnings, so that Terraform can still plan a
// correction or a destroy after a refresh.
func asWarnings(diags diag.Diagnostics) (out diag.Diagnostics) {
	for _, d := range diags {
		out.AddWarning(d.Summary(), d.Detail())
	}
	return out
}
