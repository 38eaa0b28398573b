// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package heartbeat publishes the heartbeat of a Terraform run with the ephemeral
// resource etcd_heartbeat, and reads heartbeats with the data source etcd_heartbeats.
package heartbeat

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

const (
	// defaultPrefix is the prefix that programs of the v2 era use for heartbeats.
	defaultPrefix = "/running"
	defaultTTL    = "30s"
	apiV2         = "v2"
	apiV3         = "v3"
)

// leastTTL is close to the shortest lease that etcd grants: one and a half
// times its election timeout.
const leastTTL = 2 * time.Second

// checkPlace validates the arguments that both share.
func checkPlace(prefix, api types.String, diags *diag.Diagnostics) {
	attribute.Refuse("prefix", prefix, discovery.PrefixProblem, text.HeartbeatPrefix, diags)
	if attribute.IsGiven(api) && api.ValueString() != apiV2 && api.ValueString() != apiV3 {
		report.ErrorOn(diags, "api", text.HeartbeatAPI(api.ValueString()))
	}
}

func orDefault(v types.String, standard string) types.String {
	if v.IsNull() {
		return types.StringValue(standard)
	}
	return v
}
