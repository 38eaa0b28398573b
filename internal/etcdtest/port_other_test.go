// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package etcdtest

import "syscall"

// exclusive: only Linux's listeners share a port with a reservation.
func exclusive(_, _ string, _ syscall.RawConn) error { return nil }
