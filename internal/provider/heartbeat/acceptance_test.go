// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// bench is a server, a real CLI with a configuration, and a watcher of the
// heartbeats on the server.
type bench struct {
	*acctest.Workspace
	store claim.Store

	mu     sync.Mutex
	events []string
}

func newBench(t *testing.T, version etcdtest.Version, api string) *bench {
	t.Helper()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: version, V2: api == "v2"})
	s := connection.Settings{Endpoints: c.Endpoints(), DialTimeout: time.Second, RequestTimeout: 2 * time.Second}
	b := &bench{Workspace: acctest.NewWorkspace(t, acctest.WorkspaceOptions{}), store: claim.NewV2(s, &connection.Pool{})}
	if api != "v2" {
		pool := &connection.Pool{}
		t.Cleanup(func() { _ = pool.Close() })
		b.store = claim.NewV3(cluster.New(s, pool), s, pool)
	}
	b.Write("main.tf", fmt.Sprintf(job, c.Endpoints()[0], api))
	ctx, cancel := context.WithCancel(context.Background())
	_, revision, err := b.store.List(ctx, "/running")
	must.Succeed(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.store.Watch(ctx, "/running", revision, func(e claim.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e.Name+" "+string(e.Kind))
		}); err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return b
}

// last waits until that is the last event.
func (b *bench) last(t *testing.T, kind string) {
	t.Helper()
	etcdtest.Eventually(t, kind, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if n := len(b.events); n == 0 || b.events[n-1] != "deploy "+kind {
			return fmt.Errorf("%q", b.events)
		}
		return nil
	})
}

// job is a configuration with a heartbeat named "deploy". A command waits for
// the file "go", and exits with the code in it.
const job = `
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints = [%[1]q]
}

ephemeral "etcd_heartbeat" "deploy" {
  name     = "deploy"
  api      = %[2]q
  ttl      = "2s"
  interval = "300ms"
}

data "etcd_heartbeats" "all" {
  api        = %[2]q
  expected   = ["deploy", "web1"]
  depends_on = [ephemeral.etcd_heartbeat.deploy]
}

output "missing" { value = data.etcd_heartbeats.all.missing }

resource "terraform_data" "deploy" {
  depends_on = [ephemeral.etcd_heartbeat.deploy]

  provisioner "local-exec" {
    command = "touch started; while [ ! -s go ]; do sleep 0.05; done; read code < go; exit $code"
  }
}
`

// file waits for a file that the configuration creates.
func (b *bench) file(t *testing.T, name string) {
	t.Helper()
	etcdtest.Eventually(t, name, func() error { _, err := os.Stat(filepath.Join(b.Dir, name)); return err })
}

func (b *bench) entry(t *testing.T) claim.Entry {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	e, err := b.store.Get(ctx, "/running/deploy")
	must.Succeed(t, err)
	if e == nil {
		return claim.Entry{}
	}
	return *e
}

const lostClaim = "The heartbeat of deploy was lost"

func signal(pids []int, with syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, with)
	}
}

// freeze freezes the provider until its claim has expired, and another owner, if there is
// one, has the name.
func (b *bench) freeze(t *testing.T, run *acctest.Running, successor string) {
	providers := run.Providers()
	signal(providers, syscall.SIGSTOP)
	defer signal(providers, syscall.SIGCONT)
	etcdtest.Until(t, "it misses its beat", func() bool { return b.entry(t).Value == "" })
	if successor != "" {
		if _, err := b.store.Create(context.Background(), "/running/deploy", successor, time.Hour); err != nil {
			t.Error(err)
		}
	}
	b.Write("go", "0\n")
}

// A run of Terraform beats while it lasts, longer than its time to live, under a value of its
// own. However it ends, it leaves nothing behind if the provider lives to clean up. One that
// is frozen for longer than its time to live learns from its next beat that it is lost.
func TestAccHeartbeat(t *testing.T) {
	for _, test := range []struct {
		name, api string
		version   etcdtest.Version
		end       func(t *testing.T, b *bench, run *acctest.Running)
		want      string // the last event
		says      string // the error; "-" if the CLI does not live to tell
	}{
		{"regularly", "v2", etcdtest.V35, func(_ *testing.T, b *bench, _ *acctest.Running) { b.Write("go", "0\n") }, "stopped", ""},
		{"regularly", "v3", etcdtest.V35, func(_ *testing.T, b *bench, _ *acctest.Running) { b.Write("go", "0\n") }, "stopped", ""},
		{"regularly", "v3", etcdtest.V37, func(_ *testing.T, b *bench, _ *acctest.Running) { b.Write("go", "0\n") }, "stopped", ""},
		{"consumer fails", "v3", etcdtest.V37, func(_ *testing.T, b *bench, _ *acctest.Running) { b.Write("go", "1\n") }, "stopped", "-"},
		{"interrupted", "v3", etcdtest.V37, func(_ *testing.T, _ *bench, run *acctest.Running) { _ = run.Cmd.Process.Signal(os.Interrupt) }, "stopped", "-"},
		{"CLI killed", "v3", etcdtest.V37, func(_ *testing.T, _ *bench, run *acctest.Running) { run.Kill() }, "stopped", "-"},
		{"provider killed", "v3", etcdtest.V37, func(_ *testing.T, b *bench, run *acctest.Running) {
			signal(run.Providers(), syscall.SIGKILL)
			b.Write("go", "0\n")
		}, "missed", "-"},
		{"frozen", "v2", etcdtest.V35, func(t *testing.T, b *bench, run *acctest.Running) { b.freeze(t, run, "") }, "missed", lostClaim},
		{"taken over", "v3", etcdtest.V37, func(t *testing.T, b *bench, run *acctest.Running) { b.freeze(t, run, "next") }, "started", lostClaim},
	} {
		t.Run(fmt.Sprint(test.name, " with ", test.api, " on ", test.version), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, test.version, test.api)
			t.Cleanup(func() { b.Write("go", "0\n") }) // for a command that outlives the CLI
			run := b.Start("apply")
			b.file(t, "started")
			first := b.entry(t)
			if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(first.Value) {
				t.Errorf("the value is %q", first.Value)
			}
			time.Sleep(3 * time.Second) // longer than the time to live
			if later := b.entry(t); later.Value != first.Value {
				t.Errorf("the value became %q", later.Value)
			}
			b.last(t, "beat")
			test.end(t, b, run)
			b.last(t, test.want)
			o := run.Wait()
			switch test.says {
			case "":
				o.MustSucceed().MustBeQuiet()
				if missing := string(b.Run("output", "-json", "missing").MustSucceed().Stdout); strings.TrimSpace(missing) != `["web1"]` {
					t.Errorf("missing: %s", missing)
				}
			case lostClaim:
				o.MustSay(lostClaim)
			}
		})
	}
}
