// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// NoEndpoints is the error if no endpoints are configured. There is no default:
// a plaintext localhost:2379 could be another cluster.
var NoEndpoints = New("No etcd endpoints",
	"Neither the provider block nor this block says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], "+
		"or the environment variable ETCDCTL_ENDPOINTS.")

// InvalidDuration returns the error for a text that is not a positive duration.
var InvalidDuration = of2[string, string]("Invalid duration",
	"%s is %q, which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.")
