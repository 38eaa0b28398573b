// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	if err != nil {
		t.Fatal(err)
	}
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

// seen returns the events so far, with successive equal events merged.
func (b *bench) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Compact(slices.Clone(b.events))
}

// forget drops the events so far.
func (b *bench) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = nil
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
	e, _, err := b.store.Get(ctx, "/running/deploy")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A Terraform run sends heartbeats while it lasts, however long, under a value of
// its own, and stops at its end. Plan and apply each have their own heartbeat.
func TestAccHeartbeatOfARun(t *testing.T) {
	for _, c := range []struct {
		api     string
		version etcdtest.Version
	}{{"v2", etcdtest.V35}, {"v3", etcdtest.V35}, {"v3", etcdtest.V36}, {"v3", etcdtest.V37}} {
		if !etcdtest.Runs(c.version) {
			continue
		}
		t.Run(c.api+" on "+string(c.version), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.version, c.api)
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
			b.Write("go", "0\n")
			run.Wait().MustSucceed().MustBeQuiet()
			if missing := string(b.Run("output", "-json", "missing").MustSucceed().Stdout); strings.TrimSpace(missing) != `["web1"]` {
				t.Errorf("missing: %s", missing)
			}
			want := []string{"deploy started", "deploy beat", "deploy stopped"}
			got := b.seen()
			if len(got) > 3 && got[1] == "deploy stopped" {
				got = got[2:] // the plan was too short for another beat
			} else if len(got) > 3 {
				got = got[3:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("seen: %q, want %q at the end", b.seen(), want)
			}
			if e := b.entry(t); e.Value != "" {
				t.Errorf("left behind: %+v", e)
			}
		})
	}
}

// A Terraform run that ends in another way leaves nothing behind either, if the
// provider survives to clean up; only a killed provider misses its beats.
func TestAccHeartbeatAfterTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(b *bench, run *acctest.Running)
		want string
	}{
		"consumer fails": {func(b *bench, _ *acctest.Running) { b.Write("go", "1\n") }, "deploy stopped"},
		"interrupted":    {func(_ *bench, run *acctest.Running) { run.Interrupt() }, "deploy stopped"},
		"CLI killed":     {func(_ *bench, run *acctest.Running) { run.Kill() }, "deploy stopped"},
		"provider killed": {func(_ *bench, run *acctest.Running) {
			for _, pid := range run.Providers() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}, "deploy missed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, etcdtest.V36, "v3")
			t.Cleanup(func() { b.Write("go", "0\n") }) // for a command that outlives the CLI
			run := b.Start("apply")
			b.file(t, "started")
			etcdtest.Eventually(t, "it beats", func() error {
				if got := b.seen(); got[len(got)-1] != "deploy beat" {
					return fmt.Errorf("%q", got)
				}
				return nil
			})
			b.forget()
			test.end(b, run)
			if name == "provider killed" {
				b.Write("go", "0\n")
			}
			etcdtest.Eventually(t, test.want, func() error {
				if got := b.seen(); len(got) == 0 || got[len(got)-1] != test.want {
					return fmt.Errorf("%q", got)
				}
				return nil
			})
			run.Wait()
		})
	}
}

// A Terraform run that was frozen for longer than its time to live finds, after it
// resumes, that its claim is gone or has another owner, and reports that at its end.
func TestAccHeartbeatOfAFrozenRun(t *testing.T) {
	for api, successor := range map[string]string{"v2": "", "v3": "the next one"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, etcdtest.V35, api)
			run := b.Start("apply")
			b.file(t, "started")
			providers := run.Providers()
			for _, pid := range providers {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			etcdtest.Eventually(t, "it misses its beat", func() error {
				if e := b.entry(t); e.Value != "" {
					return fmt.Errorf("%+v", e)
				}
				return nil
			})
			if successor != "" {
				if _, err := b.store.Create(context.Background(), "/running/deploy", successor, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			for _, pid := range providers {
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			b.Write("go", "0\n")
			run.Wait().MustSay("The heartbeat of deploy was lost")
			if e := b.entry(t); e.Value != successor {
				t.Errorf("now it holds %q", e.Value)
			}
		})
	}
}
