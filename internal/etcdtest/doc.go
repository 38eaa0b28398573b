// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package etcdtest runs real etcd processes of any built version for tests: on
// reserved loopback ports, with TLS and authentication, to be started, stopped,
// killed, frozen, wiped, supervised, and cut off from each other. The binaries
// come from `make tools`.
//
// # A cluster
//
// [Start] forms a cluster that serves before Start returns, and [Cluster.Client]
// reaches it:
//
//	c := etcdtest.Start(t, 3, etcdtest.Options{Version: etcdtest.V36, TLS: etcdtest.NewPKI(t)})
//	c.Leader(t).Freeze()
//	_, err := c.Client(t).Put(ctx, "key", "value")
//
// Everything ends with the test: processes are killed, clients and connections
// closed, directories removed. If the test failed, the end of each process's
// log is shown first. Should the test binary die, the kernel kills the
// processes (on Linux). A test binary that checks for leaked goroutines finds
// none.
//
// After any start etcd takes 5 s to call its members healthy; until then it may
// refuse changes of membership with "unhealthy cluster". [Cluster.AddLearner]
// and [Cluster.Promote] wait for it, [Cluster.WaitHealthy] does not.
//
// # A process by itself
//
// [NewProcess] prepares an etcd and reserves its ports; [Cluster.NewJoiner]
// prepares one that is to join. What configures it is the map [Process.Env],
// which a test fills with what the provider says:
//
//	p := c.NewJoiner(t, "infra4")
//	maps.Copy(p.Env, environment)              // ETCD_INITIAL_CLUSTER and so on
//	p.PreStart = []string{"sh", joinScript}    // as ExecStartPre
//	p.Supervise(100 * time.Millisecond)        // as Restart=always
//	err := p.WaitReady(ctx)
//
// How processes end, and what a supervisor makes of it:
//
//	Stop      SIGTERM; supervision ends     systemctl stop
//	Kill      SIGKILL; started again        a crash
//	PowerOff  SIGKILL; supervision ends     the machine is gone
//	Freeze    SIGSTOP                       the machine hangs
//	Wipe      no data directory             the disk is gone
//
// An exit with code 78 ends the supervision (RestartPreventExitStatus); any
// other, as 75 from a pre-start command that asks for another try, is followed
// by a start. An upgrade is Stop, another [Process.Version], Start.
//
// # Networks
//
// A [Link], made by [Proxy], stands between a client and a server and can be
// cut. With Options.Links each member's peer port has one, and
// [Cluster.Isolate], [Cluster.Split] and [Cluster.Heal] cut members off from
// each other while clients reach all of them. Frozen and cut-off differ: a
// frozen member answers no client either.
//
// # Writes
//
// A [Writer] writes all the while, follows the members, and tells afterwards
// how long no write was acknowledged and which acknowledged writes were lost:
//
//	w := c.NewWriter(t, etcdtest.WriterOptions{})
//	... // the change
//	w.Stop()
//	gap := w.LongestGap()
//	lost, err := w.Lost(ctx, c.Client(t))
//
// # Without package testing
//
// All functions take a [TB], which *testing.T is. A program that is no test
// gets one from [Run].
package etcdtest
