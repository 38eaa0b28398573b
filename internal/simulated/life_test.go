// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// stage is one apply of the life of a cluster that has formed, and its members afterwards.
type stage struct {
	name, names, image string
	opts               []driver.Option
	want               string
}

// The stages. In the first one the cluster forms.
var life = []stage{
	{"form", "a b c", "one", nil, "a b c"},
	{"grow", "a b c d", "one", nil, "a b c d"},
	{"roll", "a b c", "two", nil, "a b c"},
	{"replace", "a b c", "one", []driver.Option{driver.Replace(`machine.node["b"]`)}, "a b c"},
	{"replace and grow", "a b c d", "one", []driver.Option{driver.Replace(`machine.node["a"]`)}, "a b c d"},
	{"shrink", "b c", "one", nil, "b c"},
	{"destroy", "a b c", "one", []driver.Option{driver.Destroy}, ""},
}

// moment is one at which a run may be killed: before a request, or before its answer.
// Machines are made and destroyed at moments, too.
type moment struct {
	after bool
	n     int
}

// live carries out a stage. The run is killed at a moment, and plain applies finish it.
// It returns the moments at which something changes, and the number of all.
func live(t *testing.T, s stage, at moment) (changing []moment, all int) {
	simulate(t, 1, "", func(w *world) {
		l := newSite(w)
		if s.name != "form" {
			l.apply("form", "a b c", "one", "a b c")
			l.rest(time.Hour) // no window is open
		}
		ctx, end := context.WithCancel(w.Context())
		defer end()
		killed := false
		pass := func(now moment) error {
			if now == at {
				killed = true
				end()
			}
			if killed {
				return errKilled
			}
			return nil
		}
		n := 0
		before := w.network.Before
		w.network.Before = func(c context.Context, call etcdsim.Call) error {
			err := before(c, call)
			if !strings.HasPrefix(call.Run, "killed.") {
				return err
			}
			if n++; changes(call.Request) || writes(call.Request) {
				changing = append(changing, moment{false, n}, moment{true, n})
			}
			return pass(moment{false, n})
		}
		w.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error {
			if strings.HasPrefix(call.Run, "killed.") && pass(moment{true, n}) != nil {
				return errKilled
			}
			return err
		}
		l.fleet.acts = func() {
			n++
			changing = append(changing, moment{false, n})
			_ = pass(moment{false, n})
		}
		l.ws.Resources = clusterOf(s.names, s.image)
		_, r := l.ws.Up(ctx, w.start("killed"), s.opts...)
		l.fleet.acts = func() {}
		if all = n; at.n == 0 {
			l.ok(r)
			for _, d := range r.Diagnostics {
				if s.want == "" && d.Address == thisCluster {
					t.Errorf("nothing is left of the cluster: %v", d)
				}
			}
		}
		l.finish(s, at)
	})
	return changing, all
}

// finish applies until nothing is to do.
func (s *site) finish(of stage, at moment) {
	var opts []driver.Option
	if of.want == "" {
		opts = append(opts, driver.Destroy)
	}
	var last driver.Result
	for range 8 {
		s.rest(2 * claim.LockTTL)
		plan, r := s.ws.Up(s.Context(), s.start("finish"), opts...)
		if last = r; r.Err() == nil && len(plan.Actions()) == 0 {
			break
		}
		if of.want == "" && plan == nil { // as the guide Troubleshooting says
			opts = append(opts, driver.NoRefresh)
		}
	}
	if of.want == "" {
		if left := s.ws.Addresses(); last.Err() != nil || len(left) > 0 {
			s.Errorf("%s, killed at %v: %v is left: %v", of.name, at, left, last)
		}
		return
	}
	if got := s.list(); last.Err() != nil || got != of.want {
		s.Errorf("%s, killed at %v: members %q, want %q: %v", of.name, at, got, of.want, last)
	}
	s.empty(of.name)
	s.rest(2 * claim.LockTTL)
	for _, key := range s.keys() {
		// A turn that is over has no effect, and the next one deletes it.
		if !strings.Contains(key, "/members/node-") && !strings.Contains(key, "/turns/") && !strings.HasSuffix(key, "/cluster") {
			s.Errorf("%s, killed at %v: the key %s is left", of.name, at, key)
		}
	}
}

// A run is killed at requests that change something, before and after them, and in the
// long run at all requests. After each kill plain applies finish.
func TestLife(t *testing.T) {
	t.Parallel()
	for _, s := range life {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			moments, all := live(t, s, moment{})
			if etcdtest.Full() {
				moments = nil
				for n := range all {
					moments = append(moments, moment{false, n + 1}, moment{true, n + 1})
				}
			}
			t.Logf("%d moments", len(moments))
			if len(moments) < 6 {
				t.Error("too few moments")
			}
			stride := 1 + len(moments)/20
			if etcdtest.Full() {
				stride = 1
			}
			for i := 0; i < len(moments) && !t.Failed(); i += stride {
				live(t, s, moments[i])
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
