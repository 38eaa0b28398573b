// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
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
