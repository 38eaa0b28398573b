// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package internal keeps what go.mod requires until the first package that
// imports it is there.
package internal

import (
	_ "go.etcd.io/etcd/client/v2"
)
