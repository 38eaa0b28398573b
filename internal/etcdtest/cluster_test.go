// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestClusterOfOneOnEachVersion(t *testing.T) {
	t.Parallel()
	for _, v := range Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			c := Start(t, 1, Options{Version: v, V2: v.servesV2()})
			p := c.Member("infra1")
			client := c.Client(t)
			_, err := client.Put(WaitContext(t), "key", "value")
			noError(t, err)

			t.Run("freeze", func(t *testing.T) {
				p.Freeze()
				if !p.Running() {
					t.Error("a frozen process is not running")
				}
				if err := p.WaitReady(within(t, 300*time.Millisecond)); err == nil {
					t.Error("a frozen process is ready")
				}
				p.Thaw()
				noError(t, p.WaitReady(WaitContext(t)))
			})

			t.Run("stop", func(t *testing.T) {
				p.Stop()
				if p.Running() || p.PID() != 0 || p.Exits() != 1 {
					t.Errorf("after Stop: running %v, pid %d, exits %d", p.Running(), p.PID(), p.Exits())
				}
				if err := p.WaitReady(WaitContext(t)); err == nil || !strings.Contains(err.Error(), "it has ended with exit code") {
					t.Errorf("a stopped process: %v", err)
				}
				p.Stop() // a second Stop does nothing
				p.Start()
				noError(t, p.WaitReady(WaitContext(t)))
			})

			t.Run("kill", func(t *testing.T) {
				pid := p.PID()
				p.Kill()
				if p.Running() || p.ExitCode() != -1 {
					t.Errorf("after Kill: running %v, exit code %d", p.Running(), p.ExitCode())
				}
				p.Start()
				if p.PID() == pid || p.Starts() != 3 {
					t.Errorf("after another start: pid %d as before, %d starts", p.PID(), p.Starts())
				}
				noError(t, p.WaitReady(WaitContext(t)))
				got, err := client.Get(WaitContext(t), "key")
				noError(t, err)
				if got.Count != 1 {
					t.Error("the key is gone though the data directory is not")
				}
			})

			t.Run("wipe", func(t *testing.T) {
				p.PowerOff()
				p.Wipe()
				if _, err := os.Stat(p.Dir()); !os.IsNotExist(err) {
					t.Errorf("data directory after Wipe: %v", err)
				}
				p.Start()
				noError(t, p.WaitReady(WaitContext(t)))
				got, err := client.Get(WaitContext(t), "key")
				noError(t, err)
				if got.Count != 0 {
					t.Error("the key is still there though the data directory was removed")
				}
			})

			out, err := c.Etcdctl("endpoint", "status", "--write-out=simple")
			noError(t, err)
			if !strings.Contains(out, p.ClientURL()) && !strings.Contains(out, strings.TrimPrefix(p.ClientURL(), "http://")) {
				t.Errorf("etcdctl endpoint status: %s", out)
			}
		})
	}
}

func TestTLSAndPassword(t *testing.T) {
	t.Parallel()
	pki := NewPKI(t)
	c := Start(t, 3, Options{Version: V36, TLS: pki, Password: "correct horse"})
	noError(t, c.WaitHealthy(WaitContext(t)))
	leader := c.Leader(t)
	if _, err := c.Client(t).Put(WaitContext(t), "a", "b"); err != nil {
		t.Errorf("with password: %v", err)
	}
	if _, err := c.ClientFor(t, leader).Get(WaitContext(t), "a"); err != nil {
		t.Errorf("from the leader: %v", err)
	}
	if out, err := c.Etcdctl("member", "list"); err != nil || strings.Count(out, "started") != 3 {
		t.Errorf("etcdctl member list: %v\n%s", err, out)
	}
	joiner := c.NewJoiner(t, "infra4")
	if got := strings.Count(joiner.Env["ETCD_INITIAL_CLUSTER"], "="); got != 4 {
		t.Errorf("a joiner's initial cluster: %s", joiner.Env["ETCD_INITIAL_CLUSTER"])
	}
}

// TestMixedVersions forms a cluster of two versions and upgrades a member in place.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, Options{Versions: []Version{V36, V37}, Names: []string{"old", "new"}})
	p := c.Member("old")
	version := func() string {
		status, err := p.Client(t).Status(WaitContext(t), p.ClientURL())
		noError(t, err)
		return status.Version
	}
	if got := version(); !strings.HasPrefix(got, "3.6.") {
		t.Errorf("version %s", got)
	}
	p.Stop()
	p.Version = V37
	p.Start()
	noError(t, c.WaitHealthy(WaitContext(t)))
	if got := version(); !strings.HasPrefix(got, "3.7.") {
		t.Errorf("version %s after the upgrade", got)
	}
}

// A learner is ready although it serves no linearizable reads and does not
// allow logins.
func TestLearnerJoinsAndIsPromoted(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"3.4 with TLS and password": {Version: V34, TLS: NewPKI(t), Password: "secret"},
		"3.6 with password":         {Version: V36, Password: "secret"},
		"3.7 without":               {Version: V37},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Start(t, 1, opts)
			p := c.AddLearner(t, "infra2")
			if len(c.Members()) != 1 {
				t.Error("a learner is tracked by itself")
			}
			c.Promote(t, p)
			noError(t, c.WaitHealthy(WaitContext(t)))
			if got := c.Member("infra2"); got != p {
				t.Errorf("Member = %v", got)
			}
			out, err := c.Etcdctl("member", "list", "--write-out=simple")
			if err != nil || strings.Count(out, "started") != 2 || strings.Contains(out, "true") {
				t.Errorf("etcdctl member list: %v\n%s", err, out)
			}
			if out, err := c.Etcdctl("no-such-command"); err == nil || !strings.Contains(err.Error(), "unknown command") {
				t.Errorf("etcdctl no-such-command: %v\n%s", err, out)
			}
		})
	}
}
