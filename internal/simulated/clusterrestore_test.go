// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// configure sets the configuration of three nodes, with restore unless it is nil. With
// literal, their URLs have IP addresses.
func (s *site) configure(literal bool, restore driver.Values) {
	s.ws.Resources = clusterOf("a b c", "one")
	values := s.ws.Resources[0].Values
	if literal {
		wanted := map[string]any{}
		for i, name := range []string{"a", "b", "c"} {
			url := fmt.Sprintf("http://10.0.0.%d:", i+1)
			wanted[name] = driver.Values{"peer_urls": []any{url + "2380"}, "client_urls": []any{url + "2379"}}
		}
		values["members"] = wanted
	}
	if restore != nil {
		values["restore"] = restore
	}
}

// restoreOf is the restore that replaces a cluster.
func restoreOf(cluster string, gone ...any) driver.Values {
	return driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64), "replaces_cluster": cluster, "gone": gone}
}

// run applies the configuration, and returns the error, "" for none.
func (s *site) run(what string, opts ...driver.Option) string {
	s.Helper()
	_, r := s.ws.Up(s.Context(), s.start(what), opts...)
	s.rest(time.Minute)
	if r.Err() == nil {
		return ""
	}
	return r.Err().Error()
}

// want fails the test unless the text has the words, or is empty for no words.
func (s *site) want(what, got, words string) {
	s.Helper()
	if words == "" && got != "" || !strings.Contains(got, words) {
		s.Fatalf("%s: got %q, want %q", what, got, words)
	}
}

// formed forms the cluster of a new site, and returns its ID.
func (s *site) formed(literal bool) string {
	s.Helper()
	s.configure(literal, nil)
	s.want("form", s.run("form"), "")
	s.empty("formed")
	return s.id()
}

func (s *site) id() string {
	return driver.Attribute(s.ws.State("etcd_cluster.this").Value, "cluster_id")
}

// restored fails the test unless the cluster of the state serves, is another one than
// the lost cluster, and the plan is empty.
func (s *site) restored(lost string) {
	s.Helper()
	s.empty("restored")
	s.expect("members", s.list(), "a b c")
	if id := fmt.Sprintf("%x", s.cluster.Members()[0].ID); s.id() == lost || id == "" {
		s.Errorf("cluster %s, lost %s", s.id(), lost)
	}
	for _, name := range []string{"a", "b", "c"} {
		if at := driver.Attribute(s.ws.State(`etcd_member.node["`+name+`"]`).Value, "cluster_id"); at != s.id() {
			s.Errorf("%s is a member of cluster %s, not of %s", name, at, s.id())
		}
	}
}

// lost stops the machines of a cluster.
func (s *site) lost(names string) {
	for _, name := range strings.Fields(names) {
		s.fleet.stop(name)
	}
	s.rest(time.Minute)
}

// stuck is a cloud that destroys the machine of a, and no other.
type stuck struct{ *fleet }

func (s stuck) Destroy(ctx context.Context, id string) error {
	if !strings.HasPrefix(id, "a-") {
		return fmt.Errorf("%s is stuck", id)
	}
	return s.fleet.Destroy(ctx, id)
}

// A restore that is killed at any request goes on with the same configuration, or with the
// line that the error prints.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	step := 43
	if etcdtest.Full() {
		step = 1
	}
	for kill, done := 1, false; !done; kill += step {
		simulate(t, 8, "", func(w *world) {
			s := newSite(w)
			first := s.formed(false)
			s.lost("b c")
			s.configure(false, restoreOf(first, "b", "c"))
			ctx, end := context.WithCancel(s.Context())
			defer end()
			killed, at := false, w.calls+kill
			w.each = func(run string) error {
				if w.calls >= at && !killed {
					killed = true
					end()
				}
				if killed && strings.HasPrefix(run, "killed") {
					return errKilled
				}
				return nil
			}
			_, r := s.ws.Up(ctx, s.start("killed"))
			s.rest(time.Minute)
			if done = !killed; done {
				s.ok(r)
			} else if says := s.run("again"); says != "" {
				s.want(fmt.Sprint("killed at ", kill), says, `gone = ["a", "b", "c"]`)
				s.configure(false, restoreOf(first, "a", "b", "c"))
				s.want(fmt.Sprint("killed at ", kill, ", and a is stated"), s.run("stated"), "")
			}
			s.restored(first)
		})
	}
}

// destroy destroys all members, while Terraform reaches only some, with a statement which
// members are gone for good. It returns what stays in the state.
func (w *world) destroy(ws *driver.Workspace, reached, stated string) (left string, r driver.Result) {
	w.Helper()
	w.env["ETCD_CLUSTER_LOST"] = stated
	for name, p := range w.members {
		if !strings.Contains(reached, name) {
			w.network.Cut("", p.ClientURL)
		}
	}
	_, r = ws.Up(w.Context(), w.start("destroy"), driver.Destroy)
	for _, address := range ws.Addresses() {
		left += strings.TrimPrefix(address, "etcd_member.")
	}
	return left, r
}

// Members are forgotten only if those that are neither proven nor stated to be gone are
// fewer than a quorum. What the runner does not reach may serve: a survivor without a
// leader may be on the runner's side of a split. An answer contradicts the statement.
func TestForgetOnlyWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ voters, off, split, reached, stated, says string }{
		{"a b c", "", "", "", "b,c", "ETCD_CLUSTER_LOST=ID:a,b,c terraform destroy"},
		{"a b c", "", "a", "a", "b", "ETCD_CLUSTER_LOST=ID:b,c terraform destroy"},
		{"a b c d e", "d e", "a", "a", "d,e", "ETCD_CLUSTER_LOST=ID:b,c,d,e terraform destroy"},
		{"a b c", "b c", "", "a", "a,b,c", "ETCD_CLUSTER_LOST states that a is gone for good"},
		{"a b c", "b c", "", "a", "b,c", ""},
		{"a b c", "a b c", "", "", "a,b,c", ""},
	} {
		simulate(t, 1, c.voters, func(w *world) {
			ws := w.adopt(c.voters)
			id := driver.Attribute(ws.State("etcd_member.a").Value, "cluster_id")
			for _, name := range strings.Fields(c.off) {
				w.members[name].PowerOff()
			}
			if c.split != "" {
				w.cluster.Split(w.members[c.split])
			}
			time.Sleep(10 * time.Second)
			left, r := w.destroy(ws, c.reached, id+":"+c.stated)
			if c.says == "" {
				w.ok(r)
				w.expect(fmt.Sprintf("%+v: left", c), left, "")
				return
			}
			w.expect(fmt.Sprintf("%+v: left", c), left, strings.ReplaceAll(c.voters, " ", ""))
			says := strings.Replace(c.says, "ID:", id+":", 1)
			if !strings.Contains(fmt.Sprint(r.Diagnostics), says) {
				w.Errorf("%+v: %v", c, r.Diagnostics)
			}
		})
	}
}

// Three healthy members behind closed tunnels are not given up: nothing that the runner
// sees proves their loss. The plan asks, and its apply asks again.
func TestRestoreBehindClosedTunnels(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"plan", "apply"} {
		t.Run("healed before its "+method, func(t *testing.T) { simulate(t, 3, "", func(w *world) { healedBefore(newSite(w), method) }) })
	}
}

// Three healthy members are not given up because the CA of the provider does not fit. Each
// refusal lists what each address answered.
func TestWrongCAGivesNothingUp(t *testing.T) {
	t.Parallel()
	simulate(t, 11, "", func(w *world) {
		s := newSite(w)
		first, was, before := s.formed(false), s.ids(), s.network.Before
		s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			err := before(ctx, c)
			if err == nil && strings.HasPrefix(c.Run, "wrong CA") {
				err = connection.AttemptError(c.Address, x509.UnknownAuthorityError{})
			}
			return err
		}
		refused := func(opts []driver.Option, summaries ...string) {
			s.Helper()
			r := s.up("wrong CA", opts...)
			for _, name := range []string{"a", "b", "c"} {
				s.fails("wrong CA", r, "\n  - "+etcdsim.ClientURL(name)+": certificate signed by an unknown authority")
			}
			s.fails("wrong CA", r, summaries...)
		}
		for _, opts := range [][]driver.Option{nil, {driver.Target("machine.node")}} {
			s.configure(false, restoreOf(first))
			refused(opts, "The cluster may serve")
			s.configure(false, restoreOf(first, "a", "b", "c"))
			refused(opts, "A member that is stated gone answers")
		}
		s.ws.Resources, s.env["ETCD_CLUSTER_LOST"] = clusterOf("a", "one"), first+":a,b,c"
		refused([]driver.Option{driver.NoRefresh}, "ETCD_CLUSTER_LOST states that b and c are gone", "Cannot remove member b", "Cannot remove member c")
		s.env["ETCD_CLUSTER_LOST"] = ""
		s.configure(false, nil)
		s.want("the CA fits", s.run("right CA"), "")
		s.empty("the CA fits")
		s.expect("members", s.ids(), was)
	})
}

// healedBefore heals the tunnels before a call of the apply: Terraform plans again, and then
// applies.
func healedBefore(s *site, method string) {
	s.Helper()
	first := s.formed(false)
	s.silence()
	s.configure(false, restoreOf(first))
	_, r := s.ws.Plan(s.Context(), s.start("cut"))
	s.fails("cut", r, "State which members are gone")
	s.configure(false, restoreOf(first, "a", "b", "c"))
	plan, r := s.ws.Plan(s.Context(), s.start("plan"), driver.Target("etcd_cluster.this"))
	s.ok(r)
	r = s.ws.Apply(s.Context(), func(ctx context.Context) (*driver.Run, error) {
		run, err := s.start("apply")(ctx)
		before := run.Context
		run.Context = func(ctx context.Context, resource, called string) (context.Context, error) {
			if called == method {
				s.hear()
			}
			return before(ctx, resource, called)
		}
		return run, err
	}, plan)
	s.fails(method, r, "The cluster has not lost its quorum")
	s.configure(false, nil)
	s.want("healed", s.run("healed"), "")
	s.empty("healed")
	s.expect("cluster", s.id(), first)
	s.expect("members", s.list(), "a b c")
}
