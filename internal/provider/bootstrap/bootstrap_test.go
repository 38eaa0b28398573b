// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bootstrap_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// The discovery cluster must not be a member of the cluster that it forms.
func TestDiscoveryClusterIsNoMember(t *testing.T) {
	const own = "http://10.0.1.10:2379"
	for name, c := range map[string]struct {
		environment map[string]attr.Value
		refused     bool
	}{
		"v3":            {map[string]attr.Value{"ETCD_DISCOVERY_ENDPOINTS": types.StringValue("http://10.0.9.1:2379," + own)}, true},
		"v2":            {map[string]attr.Value{"ETCD_DISCOVERY": types.StringValue(own + "/v2/keys/_etcd/registry/abc")}, true},
		"another":       {map[string]attr.Value{"ETCD_DISCOVERY_ENDPOINTS": types.StringValue("http://10.0.9.1:2379")}, false},
		"another port":  {map[string]attr.Value{"ETCD_DISCOVERY_ENDPOINTS": types.StringValue("http://10.0.1.10:2479")}, false},
		"a service":     {map[string]attr.Value{"ETCD_DISCOVERY": types.StringValue("https://discovery.etcd.io/3e86b59982e49066c5d813af1c2e2579")}, false},
		"not yet known": {nil, false},
	} {
		b := bootstrap.Bootstrap{Environment: types.MapUnknown(types.StringType)}
		if c.environment != nil {
			b.Environment = types.MapValueMust(types.StringType, c.environment)
		}
		var diags diag.Diagnostics
		b.RefuseMembers(map[string][]string{"a": {"http://10.0.1.11:2379"}, "b": {own}, "c": nil}, &diags)
		if refused := diags.ErrorsCount() == 1; refused != c.refused || diags.ErrorsCount() > 1 {
			t.Errorf("%s: %v", name, diags)
		}
	}
}
