// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

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

// Name checks the name of a member that may already exist. [NewName] checks the
// name of a new member.
func Name() validator.String {
	return Checked("must be a member name: not empty, without '=' and ','", func(_, value string) *text.Message {
		return nameProblem(membership.ValidateListedName(value))
	})
}

// MemberID checks a member ID.
func MemberID() validator.String { return id("member", membership.ParseMemberID) }

// ClusterID checks a cluster ID.
func ClusterID() validator.String { return id("cluster", membership.ParseClusterID) }

func id[ID any](of Described, parse func(string) (ID, error)) validator.String {
	return Checked("must be a "+of+" ID: 1 to 16 hexadecimal digits, as etcdctl prints it", func(_, value string) *text.Message {
		if _, err := parse(value); err != nil {
			return new(text.New("Invalid "+string(of)+" ID", "%v.", err))
		}
		return nil
	})
}

// NewName refuses at plan a name with which the machine of a new member cannot
// start. It accepts a name that is already in the state.
func NewName() planmodifier.String {
	return newName{"the name of a new member is made of letters, digits and . _ : @ % + ~ -"}
}

type newName struct{ Described }

// PlanModifyString implements planmodifier.String.
func (newName) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !IsGiven(req.PlanValue) || req.PlanValue.Equal(req.StateValue) {
		return
	}
	if t := nameProblem(membership.ValidateName(req.PlanValue.ValueString())); t != nil {
		report.ErrorAt(&resp.Diagnostics, req.Path, *t)
	}
}

func nameProblem(err error) *text.Message {
	if n, ok := errors.AsType[*membership.NameError](err); ok {
		return new(text.MemberName(n))
	}
	return nil
}

// Duration checks that a text is a positive duration, such as "90s".
func Duration() validator.String {
	return Checked("must be a duration of more than zero, such as 90s or 5m", func(argument, value string) *text.Message {
		if d, err := time.ParseDuration(value); err == nil && d > 0 {
			return nil
		}
		return new(text.InvalidDuration(argument, value))
	})
}

// Timeouts is [timeouts.Attributes] with every duration checked by [Duration].
// The check of the library accepts durations that are not positive.
func Timeouts(ctx context.Context, o timeouts.Opts) schema.Attribute {
	all, ok := timeouts.Attributes(ctx, o).(schema.SingleNestedAttribute)
	if !ok {
		panic("timeouts.Attributes returns no schema.SingleNestedAttribute any more")
	}
	for name, a := range all.Attributes {
		if s, ok := a.(schema.StringAttribute); ok {
			s.Validators = []validator.String{Duration()}
			all.Attributes[name] = s
		}
	}
	return all
}

// DurationText returns a duration in the form of the configuration: "10m", not
// "10m0s".
func DurationText(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
