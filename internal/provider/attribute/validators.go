// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Checked validates known texts. problem returns the problem with the value of
// an argument, nil if there is none.
func Checked(description Described, problem func(argument, value string) *text.Message) validator.String {
	return checked{description, problem}
}

type checked struct {
	Described
	problem func(argument, value string) *text.Message
}

// ValidateString implements validator.String.
func (c checked) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !IsGiven(req.ConfigValue) {
		return
	}
	if t := c.problem(req.Path.String(), req.ConfigValue.ValueString()); t != nil {
		report.ErrorAt(&resp.Diagnostics, req.Path, *t)
	}
}

// Fits refuses known texts that have a problem. detail is a format of the text and of the
// problem, which completes its sentence.
func Fits(description Described, problem func(value string) string, summary, detail string) validator.String {
	return Checked(description, func(_, value string) *text.Message {
		if p := problem(value); p != "" {
			return new(text.New(summary, detail, value, p))
		}
		return nil
	})
}

// Name checks the name of a member that may already exist. [CheckNewName] checks the
// name of a new member.
var Name = Checked("must be a member name: not empty, without '=' and ','", func(_, value string) *text.Message {
	return nameProblem(membership.ValidateListedName(value))
})

// MemberID checks a member ID.
var MemberID = id("member", membership.ParseMemberID)

// ClusterID checks a cluster ID.
var ClusterID = id("cluster", membership.ParseClusterID)

func id[ID any](of Described, parse func(string) (ID, error)) validator.String {
	return Checked("must be a "+of+" ID: 1 to 16 hexadecimal digits, as etcdctl prints it", func(_, value string) *text.Message {
		if _, err := parse(value); err != nil {
			return new(text.New("Invalid "+string(of)+" ID", "%v.", err))
		}
		return nil
	})
}

// CheckNewName refuses at plan a name with which the machine of a new member cannot
// start. It accepts the name that the state has.
func CheckNewName(at path.Path, was, now types.String, diags *diag.Diagnostics) {
	if !IsGiven(now) || now.Equal(was) {
		return
	}
	if t := nameProblem(membership.ValidateName(now.ValueString())); t != nil {
		report.ErrorAt(diags, at, *t)
	}
}

func nameProblem(err error) *text.Message {
	if n, ok := errors.AsType[*membership.NameError](err); ok {
		return new(text.MemberName(n))
	}
	return nil
}

// Duration checks that a text is a positive duration, such as "90s".
var Duration = Checked("must be a duration of more than zero, such as 90s or 5m", func(argument, value string) *text.Message {
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return nil
	}
	return new(text.InvalidDuration(argument, value))
})

// Timeouts is [timeouts.Attributes] with every duration checked by [Duration], for operations
// with their descriptions. The check of the library accepts durations that are not positive.
func Timeouts(descriptions map[string]string) schema.SingleNestedAttribute {
	all := map[string]schema.Attribute{}
	for operation, description := range descriptions {
		all[operation] = schema.StringAttribute{Optional: true, Description: description, Validators: []validator.String{Duration}}
	}
	return schema.SingleNestedAttribute{Optional: true, Attributes: all, CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: TypesOf(all)}}}
}

// DurationText returns a duration in the form of the configuration: "10m", not
// "10m0s".
func DurationText(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

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

// Advertised checks URLs at which other processes reach the member.
var Advertised = URLs{"must be URLs with scheme http or https, a host and a port, such as https://10.0.1.10:2380", membership.NormalizeURL, false}

// Endpoints checks client URLs of the cluster. The scheme and the port are
// optional.
var Endpoints = URLs{"must be client URLs, such as https://10.0.1.10:2379", func(s string) (string, error) { return connection.ParseEndpoint(s, false) }, true}

// ValidateList implements validator.List.
func (u URLs) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	u.check(req.Path, req.ConfigValue, func(i int, _ attr.Value) path.Path { return req.Path.AtListIndex(i) }, &resp.Diagnostics)
}

// ValidateSet implements validator.Set.
func (u URLs) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	u.check(req.Path, req.ConfigValue, func(_ int, e attr.Value) path.Path { return req.Path.AtSetValue(e) }, &resp.Diagnostics)
}

func (u URLs) check(argument path.Path, urls collection, at func(int, attr.Value) path.Path, diags *diag.Diagnostics) {
	seen := map[string]bool{}
	for i, element := range urls.Elements() {
		value, ok := element.(types.String)
		if !ok || value.IsUnknown() {
			continue
		}
		normal, err := u.normal(value.ValueString())
		switch {
		case value.IsNull():
			report.ErrorAt(diags, at(i, element), text.New("Invalid URL in "+argument.String(),
				"%s has an element that is null. Leave the element out, or give the URL that it stands for.", argument))
		case err != nil:
			report.ErrorAt(diags, at(i, element), text.URLIn(argument.String(), err))
		case seen[normal] && !u.again:
			report.ErrorAt(diags, at(i, element), text.New("Duplicate URL in "+argument.String(), "%s has %s twice. Give each URL once.", argument, normal))
		}
		seen[normal] = true
	}
}

// SameURLs reports whether two sets hold the same URLs, in any spelling. Two
// null sets are the same. A set with an unknown value is not the same as any other.
func SameURLs(a, b types.Set) bool {
	switch {
	case a.IsNull() || b.IsNull():
		return a.IsNull() && b.IsNull()
	case SomeUnknown(a) || SomeUnknown(b):
		return false
	}
	return membership.SameURLs(Texts(a), Texts(b))
}
