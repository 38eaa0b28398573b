// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package etcdtest runs real etcd processes of any built version for tests: on
// reserved loopback ports, with TLS and authentication. Tests can start, stop,
// kill, freeze, wipe and supervise them, and cut them off from each other. The
// binaries come from `make tools`.
//
// # A cluster
//
// [Start] forms a cluster and returns when it serves. [Cluster.Client] connects
// to it:
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
// refuse membership changes with "unhealthy cluster". [Cluster.AddLearner] and
// [Cluster.Promote] wait for this, [Cluster.WaitHealthy] does not.
//
// # A single process
//
// [NewProcess] prepares an etcd and reserves its ports. [Cluster.NewJoiner]
// prepares a new member. The map [Process.Env] configures the process, and a
// test fills it with the values of the provider:
//
//	p := c.NewJoiner(t, "infra4")
//	maps.Copy(p.Env, environment)              // ETCD_INITIAL_CLUSTER and so on
//	p.PreStart = []string{"sh", joinScript}    // as ExecStartPre
//	p.Supervise(100 * time.Millisecond)        // as Restart=always
//	err := p.WaitReady(ctx)
//
// These methods end or stop a process:
//
//	Stop      SIGTERM; supervision ends     systemctl stop
//	Kill      SIGKILL; started again        a crash
//	PowerOff  SIGKILL; supervision ends     the machine is gone
//	Freeze    SIGSTOP                       the machine hangs
//	Wipe      no data directory             the disk is gone
//
// Exit code 78 ends the supervision (RestartPreventExitStatus). After any other
// exit code, such as 75 from a pre-start command that wants to be run again,
// the process is started again. To upgrade, Stop, set [Process.Version] and
// Start.
//
// # Networks
//
// A [Link], created by [Proxy], is a proxy between a client and a server that
// can be cut. With Options.Links the peer port of each member has a link, and
// [Cluster.Split] and [Cluster.Heal] cut members off from
// each other while clients still reach all of them. A frozen member, in
// contrast, does not answer clients either.
//
// # Writes
//
// A [Writer] writes continuously and follows the member list. Afterwards it
// reports the longest time without an acknowledged write, and lost writes:
//
//	w := c.NewWriter(t, etcdtest.WriterOptions{})
//	... // the change
//	w.Stop()
//	gap := w.LongestGap()
//	lost, err := w.Lost(ctx, c.Client(t))
//
// # Without package testing
//
// All functions take a [TB], which *testing.T implements. A program that is not
// a test gets one from [Run].
package etcdtest
