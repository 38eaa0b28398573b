// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// URLs checks every element of a list or set of URLs. Every later read, change
// and destroy can use the URLs that pass. Unknown elements pass; Terraform
// validates them again when they are known.
type URLs struct {
	Described
	// normal returns a URL in a form that is equal for all spellings of that URL.
	normal func(string) (string, error)
	// again reports whether the same URL may occur twice.
	again bool
}

var (
	_ validator.List = URLs{}
	_ validator.Set  = URLs{}
)

// Advertised checks URLs at which other processes reach the member.
func Advertised() URLs {
	return URLs{"must be URLs with scheme http or https, a host and a port, such as https://10.0.1.10:2380", membership.NormalizeURL, false}
}

// Endpoints checks client URLs of the cluster. The scheme and the port are
// optional.
func Endpoints() URLs {
	parse := func(s string) (string, error) { return connection.ParseEndpoint(s, false) }
	return URLs{"must be client URLs, such as https://10.0.1.10:2379", parse, true}
}

// ValidateList implements validator.List.
func (u URLs) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	seen := map[string]bool{}
	for i, e := range req.ConfigValue.Elements() {
		u.check(req.Path, req.Path.AtListIndex(i), e, seen, &resp.Diagnostics)
	}
}

// ValidateSet implements validator.Set.
func (u URLs) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	seen := map[string]bool{}
	for _, e := range req.ConfigValue.Elements() {
		u.check(req.Path, req.Path.AtSetValue(e), e, seen, &resp.Diagnostics)
	}
}

func (u URLs) check(argument, at path.Path, element attr.Value, seen map[string]bool, diags *diag.Diagnostics) {
	value, ok := element.(types.String)
	if !ok || value.IsUnknown() {
		return
	}
	fail := func(t text.Message) { report.ErrorAt(diags, at, t) }
	if value.IsNull() {
		fail(text.New("Invalid URL in "+argument.String(),
			"%s has an element that is null. Leave the element out, or give the URL that it stands for.", argument))
		return
	}
	normal, err := u.normal(value.ValueString())
	var bad *membership.URLError
	var endpoint *connection.EndpointError
	switch {
	case errors.As(err, &bad):
		fail(text.URLIn(argument.String(), bad))
	case errors.As(err, &endpoint):
		fail(text.InvalidEndpoint(argument.String(), endpoint))
	case seen[normal] && !u.again:
		fail(text.New("Duplicate URL in "+argument.String(), "%s has %s twice. Give each URL once.", argument, normal))
	}
	seen[normal] = true
}

// SameURLs keeps the URLs of the state if the configuration only spells them
// differently (case, a trailing slash, order). The framework checks semantic
// equality of a type only after Create, Read and Update, not for a plan.
func SameURLs() planmodifier.Set { return sameURLs{"the same URLs written differently are no change"} }

type sameURLs struct{ Described }

// PlanModifySet implements planmodifier.Set.
func (sameURLs) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if areSameURLs(req.StateValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// areSameURLs reports whether two sets hold the same URLs, in any spelling. Two
// null sets are the same. A set with an unknown value is not the same as any other.
func areSameURLs(a, b types.Set) bool {
	switch {
	case a.IsNull() || b.IsNull():
		return a.IsNull() && b.IsNull()
	case SomeUnknown(a) || SomeUnknown(b):
		return false
	}
	return membership.SameURLs(Texts(a), Texts(b))
}

// NormalURLs returns the URLs in the form that etcd gets, in order, nil for none.
// [Advertised] has already refused any URL that cannot be normalised; NormalURLs returns
// such a URL unchanged.
func NormalURLs(urls []string) (out []string) {
	for _, u := range urls {
		if n, err := membership.ListedURL(u); err == nil {
			u = n
		}
		out = append(out, u)
	}
	slices.Sort(out)
	return out
}
