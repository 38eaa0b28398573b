// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Every timeout is checked, and only once.
func TestTimeouts(t *testing.T) {
	all, ok := Timeouts(t.Context(), timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}).(schema.SingleNestedAttribute)
	if !ok || len(all.Attributes) != 4 {
		t.Fatalf("got %v", all)
	}
	for name, a := range all.Attributes {
		s, ok := a.(schema.StringAttribute)
		if !ok || len(s.Validators) != 1 {
			t.Fatalf("%s: %v", name, a)
		}
		for value, good := range map[string]bool{"-5s": false, "0s": false, "5": false, "": false, "5s": true, "1h30m": true} {
			var resp validator.StringResponse
			s.Validators[0].ValidateString(t.Context(), validator.StringRequest{Path: path.Root("timeouts").AtName(name), ConfigValue: types.StringValue(value)}, &resp)
			if resp.Diagnostics.HasError() == good {
				t.Errorf("%s = %q: %v", name, value, resp.Diagnostics)
			}
		}
	}
}
