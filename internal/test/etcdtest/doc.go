// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package etcdtest runs real etcd processes of any built version for tests: on
// reserved loopback ports, with TLS and authentication. Tests can start, stop,
// kill, freeze, wipe and supervise them, and cut them off from each other. The
// binaries come from `make tools`.
//
// [Start] forms a cluster and returns when it serves:
//
//	c := etcdtest.Start(t, 3, etcdtest.Options{Version: etcdtest.V36, TLS: etcdtest.NewPKI(t)})
//	c.Leader(t).Freeze()
//	_, err := c.Client(t).Put(ctx, "key", "value")
//
// When the test ends, processes are killed, clients and connections closed, and
// directories removed. If the test failed, the end of the log of each process
// is shown first. If the test binary dies, the kernel kills the processes (on
// Linux). A test binary that checks for leaked goroutines finds none.
//
// For 5 s after it starts, etcd does not consider its members healthy and can
// refuse membership changes with "unhealthy cluster". [Cluster.AddLearner] waits for
// this, [Cluster.WaitHealthy] does not.
//
// These methods end or stop a [Process]:
//
//	Kill      SIGKILL; started again        a crash
//	PowerOff  SIGKILL; supervision ends     the machine is gone
//	Freeze    SIGSTOP                       the machine hangs
//	Wipe      no data directory             the disk is gone
package etcdtest
