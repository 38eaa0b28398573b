// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package etcdtest

import "syscall"

// exclusive does nothing: only on Linux do listeners share a reserved port.
func exclusive(_, _ string, _ syscall.RawConn) error { return nil }
