// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
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

// killing kills the run "killed" at a moment. all is the number of moments that it saw, and
// changing are those at which something changes.
type killing struct {
	context.Context
	at       moment
	end      func()
	killed   bool
	all      int
	changing []moment
}

func (w *world) killing(at moment) *killing {
	k := &killing{at: at}
	k.Context, k.end = context.WithCancel(w.Context())
	before := w.network.Before
	w.network.Before = func(c context.Context, call etcdsim.Call) error {
		err := before(c, call)
		if !strings.HasPrefix(call.Run, "killed.") {
			return err
		}
		if k.all++; changes(call.Request) || writes(call.Request) {
			k.changing = append(k.changing, moment{false, k.all}, moment{true, k.all})
		}
		return k.pass(moment{false, k.all})
	}
	w.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error {
		if strings.HasPrefix(call.Run, "killed.") && k.pass(moment{true, k.all}) != nil {
			return errKilled
		}
		return err
	}
	return k
}

func (k *killing) pass(now moment) error {
	if now == k.at {
		k.killed = true
		k.end()
	}
	return map[bool]error{true: errKilled}[k.killed]
}

// live carries out a stage. The run is killed at a moment, and plain applies finish it.
func live(t *testing.T, s stage, at moment) (k *killing) {
	simulate(t, 1, "", func(w *world) {
		l := newRunner(w)
		if s.name != "form" {
			l.run("form a b c")
		}
		k = w.killing(at)
		defer k.end()
		l.fleet.acts = func() {
			k.all++
			k.changing = append(k.changing, moment{false, k.all})
			_ = k.pass(moment{false, k.all})
		}
		l.ws.Resources = clusterOf(s.names, s.image)
		_, r := l.ws.Up(k, w.start("killed"), s.opts...)
		l.fleet.acts = func() {}
		if at.n == 0 {
			l.ok(r)
			for _, d := range r.Diagnostics {
				if s.want == "" && d.Address == thisCluster {
					t.Errorf("nothing is left of the cluster: %v", d)
				}
			}
		}
		l.site.finish(s, at)
	})
	return k
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
			all := live(t, s, moment{})
			moments := all.changing
			if etcdtest.Full() {
				moments = nil
				for n := range all.all {
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

// A restore that is killed at any request goes on with the same configuration, or with the
// line that the error prints.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	step := 43
	if etcdtest.Full() {
		step = 1
	}
	for n, done := 1, false; !done; n += step {
		simulate(t, 8, "", func(w *world) {
			s := newRunner(w)
			for _, line := range []string{"nodes a b c", "apply", "let id cluster", "stop b c", "wait 1m", "restore $id b c"} {
				s.run(line)
			}
			k := w.killing(moment{false, n})
			defer k.end()
			_, r := s.ws.Up(k, s.start("killed"))
			s.rest(time.Minute)
			if done = !k.killed; done {
				s.ok(r)
			} else if s.run("try apply"); s.said.Err() != nil {
				s.says(fmt.Sprint("killed at ", n), s.said, `gone = ["a", "b", "c"]`)
				s.run("restore $id a b c")
				s.run("apply")
			}
			s.run("restored $id")
		})
	}
}

// Wherever a run is killed, a change of peer URLs that was made is on record, and nothing
// else keeps the next one from being made.
func TestPendingPeerURLsKilled(t *testing.T) {
	t.Parallel()
	move := func(at moment) (k *killing) {
		simulate(t, 1, "a b c", func(w *world) {
			s := newRunner(w)
			s.run("imported a b c")
			k = w.killing(at)
			defer k.end()
			s.run(`argument etcd_member.a peer_urls ["http://a.example:3380"]`)
			_, _ = s.ws.Up(k, s.start("killed"))
			w.rest(2 * claim.LockTTL)
			moved := s.listed("a") == "http://a.example:3380"
			if !moved {
				s.run(`argument etcd_member.a peer_urls ["http://a.example:2380"]`)
			}
			s.run(`argument etcd_member.b peer_urls ["http://b.example:3380"]`)
			if moved {
				s.run("apply => pending")
				s.run("listed b http://b.example:2380")
			} else {
				s.run("apply")
			}
		})
		return k
	}
	moments := move(moment{}).changing
	for _, at := range moments {
		move(at)
	}
	if len(moments) < 6 {
		t.Errorf("%d moments", len(moments))
	}
}
