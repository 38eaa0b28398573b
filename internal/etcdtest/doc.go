// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package etcdtest runs real etcd processes of any built version for tests:
// on reserved loopback ports, with TLS and authentication, to be started,
// stopped, killed, frozen, wiped, supervised and cut off from each other.
package etcdtest
