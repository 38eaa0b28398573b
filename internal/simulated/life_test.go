// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// stage is one apply of a life: an edit, and the members afterwards.
type stage struct {
	edit func(ws *driver.Workspace)
	want string
}

// The life of a cluster: join and promote, remove the leader, change peer URLs, remove.
var life = []stage{
	{func(ws *driver.Workspace) { ws.Resources = members("a b c") }, "a b c"},
	{func(ws *driver.Workspace) { ws.Resources = ws.Resources[1:] }, "b c"},
	{func(ws *driver.Workspace) { ws.Resources[0].Values["peer_urls"] = []any{"http://b.example:3380"} }, "b c"},
	{func(ws *driver.Workspace) { ws.Resources = ws.Resources[:1] }, "b"},
}

// live carries out a life. If Terraform and its provider are killed at a request,
// another run of Terraform finishes the stage, and the life ends there. It returns
// the number of requests.
func live(t *testing.T, kill int) (calls int) {
	simulate(t, 1, "a b", func(w *world) {
		ws := w.adopt("a b")
		ws.Provider = w.provider("b c")
		w.boot("c")
		w.calls = 0
		ctx, end := context.WithCancel(w.Context())
		defer end()
		killed := false
		w.each = func(run string) error {
			if w.calls == kill {
				killed = true
				end()
			}
			if killed && run < "second" {
				return errKilled
			}
			return nil
		}
		for i, s := range life {
			time.Sleep(10 * time.Second) // etcd refuses some changes while a member is new
			s.edit(ws)
			_, r := ws.Up(ctx, w.start("first"))
			if killed {
				_, r = ws.Up(w.Context(), w.start("second"))
			}
			if r.Err() != nil {
				t.Errorf("killed at request %d: stage %d: %v", kill, i, r.Err())
			}
			if got := w.list(); got != s.want {
				t.Errorf("killed at request %d: stage %d: members %q, want %q", kill, i, got, s.want)
			}
			if killed {
				break
			}
		}
		if plan, r := ws.Plan(w.Context(), w.start("second")); r.Err() != nil || len(plan.Actions()) > 0 {
			t.Errorf("killed at request %d: the next plan is not empty: %v %v", kill, r, plan)
		}
		time.Sleep(2 * claim.LockTTL) // a new leader renews the lock of the killed run once
		for _, key := range w.keys() {
			// An ownership record may outlive its member: the next join of that name replaces it.
			if !strings.HasSuffix(key, "/members/name:c") {
				t.Errorf("killed at request %d: a key remains: %s", kill, key)
			}
		}
		calls = w.calls
	})
	return calls
}

func TestLife(t *testing.T) {
	t.Parallel()
	requests := live(t, 0)
	if requests < 100 {
		t.Fatalf("a whole life took only %d requests", requests)
	}
	t.Logf("%d requests", requests)
	const groups = 4
	for group := range groups {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for kill := 1 + group; kill <= requests && !t.Failed(); kill += groups {
				live(t, kill)
			}
		})
	}
}

// The end of the connections is the end of everything that a provider process does.
func TestCloseEndsAnApply(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		ws := w.adopt("a b c")
		ws.Resources = members("a b c d") // nobody starts d
		time.AfterFunc(2*time.Minute, func() { _ = w.pool.Close() })
		begin := time.Now()
		_, r := ws.Up(w.Context(), w.start("first"))
		if took := time.Since(begin); r.Err() == nil || took > 3*time.Minute {
			t.Errorf("after %v: %v", took, r)
		}
	})
}
