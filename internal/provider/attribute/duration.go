// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

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
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
