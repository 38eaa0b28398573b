// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package heartbeat publishes the heartbeat of a Terraform run with the ephemeral
// resource etcd_heartbeat, and reads heartbeats with the data source etcd_heartbeats.
package heartbeat

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
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

// inPrefix and inAPI validate the arguments that both share.
var (
	inPrefix = attribute.Fits("must be an absolute key", discovery.PrefixProblem, text.HeartbeatPrefix)
	inAPI    = stringvalidator.OneOf(apiV3, apiV2)
)

func orDefault(v types.String, standard string) types.String {
	if v.IsNull() {
		return types.StringValue(standard)
	}
	return v
}
