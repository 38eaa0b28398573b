// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// Each test in this file states a rule that the provider has broken. If the comment of a
// test says "today", the provider still breaks it, and the test asserts today's outcome. A
// later change of the provider keeps the rule, and turns the assertions around.

// failure is the error of a command that has exactly one.
func (w *world) failure(r driver.Result) (failure driver.Diagnostic) {
	w.Helper()
	n := 0
	for _, d := range r.Diagnostics {
		if !d.Warning {
			failure = d
			n++
		}
	}
	if n != 1 {
		w.Fatalf("%d errors, want one: %v", n, r.Err())
	}
	return failure
}

// The rule, which the provider keeps: the file of an etcd_snapshot is replaced only by a
// snapshot of the same cluster that is not older. Otherwise the apply
// fails and the file stays.
func TestBackupIsKept(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(*world, *driver.Workspace){
		"another cluster answers": func(w *world, _ *driver.Workspace) {
			other := w.network.Form(release, "x").Processes()[0]
			time.Sleep(10 * time.Second)
			w.network.Answer(w.members["a"].ClientURL, other)
		},
		"the member is behind": func(_ *world, ws *driver.Workspace) { ws.Resources[0].Values["member"] = "c" },
	} {
		path := filepath.Join(t.TempDir(), "etcd.db")
		simulate(t, 1, "a b c", func(w *world) {
			w.cluster.Split(w.members["c"])
			for i := range 9 {
				if _, err := w.client("a").Put(w.Context(), fmt.Sprint("key", i), "value"); err != nil {
					w.Fatal(err)
				}
			}
			ws := driver.New(w, w.provider("a"), driver.Resource{Type: "etcd_snapshot", Name: "nightly", Values: driver.Values{
				"path": path, "triggers": map[string]any{"night": "1"},
			}})
			_, r := ws.Up(w.Context(), w.start("one"))
			w.ok(r)
			backup, err := os.ReadFile(path)
			if err != nil {
				w.Fatal(err)
			}
			spoil(w, ws)
			ws.Resources[0].Values["triggers"] = map[string]any{"night": "2"}
			_, r = ws.Up(w.Context(), w.start("two"))
			w.expect(what, w.failure(r).Summary, "Cannot save a snapshot")
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, backup) {
				w.Errorf("%s: the file was replaced: %v", what, err)
			}
		})
	}
}

// readdress gives the members new peer URLs, one in each apply. moves is called after
// each apply. Then the processes of two members restart.
func readdress(w *world, moves func(*etcdsim.Process)) *driver.Workspace {
	ws := w.adopt("a b c")
	for i, name := range []string{"a", "b", "c"} {
		ws.Resources[i].Values["peer_urls"] = []any{"http://" + name + ".example:3380"}
		_, r := ws.Up(w.Context(), w.start("one"))
		w.ok(r)
		moves(w.members[name])
	}
	if w.cluster.Leader() == nil {
		w.Error("no leader before the restarts")
	}
	for _, name := range []string{"b", "c"} {
		w.members[name].PowerOff()
		if err := w.members[name].Start(); err != nil {
			w.Error(err)
		}
	}
	time.Sleep(10 * time.Second)
	return ws
}

// Three changes of peer URLs, each followed by a restart with the new URL.
func TestPeerURLsThatAreProven(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		ws := readdress(w, func(p *etcdsim.Process) {
			p.PowerOff()
			p.PeerURL = "http://" + p.Name + ".example:3380"
			if err := p.Start(); err != nil {
				w.Error(err)
			}
			time.Sleep(10 * time.Second)
		})
		plan, r := ws.Up(w.Context(), w.start("two"))
		w.ok(r)
		w.expect("the next plan", plan.Actions(), []string{})
		if w.cluster.Leader() == nil {
			w.Error("no leader")
		}
	})
}
