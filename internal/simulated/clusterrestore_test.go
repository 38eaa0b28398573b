// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// restore of a cluster that exists is stored and changes no machine and no member.
func TestClusterRestoreOfExisting(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		was := s.ids()
		for _, snapshot := range []string{"/s.db", "/other.db"} {
			s.ws.Resources[0].Values["restore"] = driver.Values{"snapshot": snapshot, "sha256": strings.Repeat("0", 64)}
			plan, r := s.ws.Up(s.Context(), s.start("set "+snapshot))
			if r.Err() != nil || len(plan.Actions()) != 1 {
				s.Fatalf("%s: %v %v", snapshot, r.Err(), plan.Actions())
			}
			if !strings.Contains(fmt.Sprint(r), "nothing is restored") {
				s.Errorf("%s: no warning in %v", snapshot, r)
			}
			s.empty("after " + snapshot)
		}
		if got := s.ids(); !maps.Equal(got, was) {
			s.Errorf("members %v, before %v", got, was)
		}
	})
}

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

// A cluster whose machines are all gone is restored by one apply. It stays restored, and
// can be lost and restored again.
func TestLostClusterIsRestored(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		first := s.formed(false)
		for _, name := range []string{"a", "b", "c"} {
			s.fleet.lose(name)
		}
		s.rest(time.Minute)
		s.configure(false, restoreOf("1234"))
		s.want("another cluster", s.run("another cluster"), "Cannot restore the cluster")
		s.configure(false, restoreOf(first))
		s.want("not stated", s.run("not stated"), `gone = ["a", "b", "c"]`)
		s.configure(false, restoreOf(first, "a", "b", "c"))
		s.want("restore", s.run("restore"), "")
		s.restored(first)
		s.rest(30 * 24 * time.Hour)
		s.empty("a month later")
		second := s.id()

		s.configure(false, nil)
		s.want("without restore", s.run("without restore"), "")
		s.empty("without restore")
		s.expect("cluster", s.id(), second)
		s.configure(false, restoreOf(first, "a", "b", "c"))
		s.want("the old confirmation", s.run("the old confirmation"), "Cannot restore the cluster")

		for _, name := range []string{"a", "b", "c"} {
			s.fleet.stop(name)
		}
		s.configure(false, restoreOf(second, "a", "b", "c"))
		s.want("restore again", s.run("restore again"), "")
		s.restored(second)
	})
}

// Only etcd_cluster is restored, of a cluster that is stated to be gone behind closed
// tunnels. It answers again before a machine has followed: then nothing goes on, and
// taking restore out leads back to an empty plan. With IP addresses the answers prove that
// nothing of the restored cluster runs. With host names the operator states it.
func TestRestoreIsWithdrawn(t *testing.T) {
	t.Parallel()
	for _, literal := range []bool{true, false} {
		simulate(t, 4, "", func(w *world) {
			s := newSite(w)
			first := s.formed(literal)
			was := s.ids()
			for _, p := range s.members {
				s.network.Cut("", p.ClientURL)
			}
			s.configure(literal, restoreOf(first, "a", "b", "c"))
			s.want("target", s.run("target", driver.Target("etcd_cluster.this")), "")
			second := s.id()
			if second == first {
				t.Fatal("nothing was restored")
			}
			for _, p := range s.members {
				s.network.Heal("", p.ClientURL)
			}
			s.want("it answers", s.run("it answers"), "To withdraw the restore")
			s.configure(literal, restoreOf(first))
			s.want("it answers, and none is stated", s.run("none stated"), "The cluster has not lost its quorum")
			s.configure(literal, restoreOf(second, "a", "b", "c"))
			s.want("replace the restored one", s.run("replace"), "which an earlier apply restores")
			s.configure(literal, nil)
			if !literal {
				s.want("withdraw", s.run("withdraw"), "ETCD_CLUSTER_LOST="+second+":a,b,c terraform apply")
				s.env["ETCD_CLUSTER_LOST"] = second + ":a,b,c"
			}
			s.want("withdraw", s.run("withdraw"), "")
			s.env["ETCD_CLUSTER_LOST"] = ""
			s.empty("withdrawn")
			s.expect("cluster", s.id(), first)
			if now := s.ids(); !maps.Equal(now, was) {
				t.Errorf("members %v, before %v", now, was)
			}
		})
	}
}

// lost stops the machines of a cluster.
func (s *site) lost(names string) {
	for _, name := range strings.Fields(names) {
		s.fleet.stop(name)
	}
	s.rest(time.Minute)
}

// Only etcd_cluster was restored. A plain apply goes on, without another statement of
// what was destroyed since.
func TestRestoreGoesOn(t *testing.T) {
	t.Parallel()
	simulate(t, 5, "", func(w *world) {
		s := newSite(w)
		first := s.formed(false)
		s.lost("b c")
		s.configure(false, restoreOf(first, "b", "c"))
		s.want("target", s.run("target", driver.Target("etcd_cluster.this")), "")
		s.lost("a") // it is not stated
		changed := restoreOf(first, "b", "c")
		changed["snapshot"] = "/other.db"
		s.configure(false, changed)
		s.want("another snapshot", s.run("another snapshot"), "which an earlier apply restores")
		s.configure(false, restoreOf(first, "b", "c"))
		s.want("go on", s.run("go on"), "")
		s.restored(first)
	})
}

// stuck is a cloud that destroys the machine of a, and no other.
type stuck struct{ *fleet }

func (s stuck) Destroy(ctx context.Context, id string) error {
	if !strings.HasPrefix(id, "a-") {
		return fmt.Errorf("%s is stuck", id)
	}
	return s.fleet.Destroy(ctx, id)
}

// A machine has followed, and the cluster answers again: it has its quorum without that
// machine. The restore does not go on. Its withdrawal gives up what the machine began to
// form, and the node before joins its cluster again.
func TestRestoreIsWithdrawnAfterAMachineFollowed(t *testing.T) {
	t.Parallel()
	for _, literal := range []bool{true, false} {
		simulate(t, 6, "", func(w *world) {
			s := newSite(w)
			first := s.formed(literal)
			was := s.ids()
			of, processes := s.cluster, maps.Clone(s.members)
			for _, p := range processes {
				s.network.Cut("", p.ClientURL)
			}
			s.configure(literal, restoreOf(first, "a", "b", "c"))
			s.want("target", s.run("target", driver.Target("etcd_cluster.this")), "")
			s.ws.Machines = stuck{s.fleet}
			s.want("only a follows", s.run("only a follows"), "is stuck")
			s.ws.Machines = s.fleet
			second := s.id()
			for _, p := range processes {
				s.network.Heal("", p.ClientURL)
			}
			s.rest(time.Minute)
			s.configure(literal, restoreOf(first))
			s.want("it answers", s.run("it answers"), "The cluster has not lost its quorum")
			s.configure(literal, nil)
			lost := second + ":a"
			if !literal {
				lost += ",b,c"
			}
			s.want("withdraw", s.run("withdraw"), "ETCD_CLUSTER_LOST="+lost+" terraform apply")
			s.env["ETCD_CLUSTER_LOST"] = lost
			s.want("withdraw", s.run("withdraw"), "")
			s.env["ETCD_CLUSTER_LOST"] = ""
			s.empty("withdrawn")
			s.expect("cluster", s.id(), first)
			s.cluster = of
			s.expect("members", s.list(), "a b c")
			if now := s.ids(); now["a"] == was["a"] || now["b"] != was["b"] || now["c"] != was["c"] {
				t.Errorf("members %v, before %v", now, was)
			}
		})
	}
}

// The apply of a restore ends when one machine is destroyed and its members are forgotten.
// The cluster answers again, with its quorum. Nothing more of it is destroyed, and without
// restore the state leads back to it.
func TestRestoreEndsHalfway(t *testing.T) {
	t.Parallel()
	simulate(t, 10, "", func(w *world) {
		s := newSite(w)
		first, was, processes := s.formed(false), s.ids(), maps.Clone(s.members)
		for _, p := range processes {
			s.network.Cut("", p.ClientURL)
		}
		s.configure(false, restoreOf(first, "a", "b", "c"))
		s.ws.Machines = stuck{s.fleet}
		s.want("restore", s.run("restore"), "is stuck")
		s.ws.Machines = s.fleet
		for _, p := range processes {
			s.network.Heal("", p.ClientURL)
		}
		s.rest(time.Minute)
		s.want("it answers", s.run("it answers"), "The cluster has not lost its quorum")
		s.configure(false, nil)
		s.want("without restore", s.run("without restore"), "")
		s.empty("without restore")
		s.expect("cluster", s.id(), first)
		s.expect("members", s.list(), "a b c")
		if now := s.ids(); now["b"] != was["b"] || now["c"] != was["c"] {
			t.Errorf("members %v, before %v", now, was)
		}
	})
}

// Without its members, -target replaces every machine. The restored cluster serves then,
// and a plain apply takes the members over that the state has of the lost cluster.
func TestRestoreOfOneMember(t *testing.T) {
	t.Parallel()
	simulate(t, 9, "", func(w *world) {
		s := newSite(w)
		first := s.formed(false)
		s.lost("a b c")
		s.configure(false, restoreOf(first, "a", "b", "c"))
		s.want("target", s.run("target", driver.Target(`etcd_member.node["a"]`)), "")
		if at := driver.Attribute(s.ws.State(`etcd_member.node["b"]`).Value, "cluster_id"); at != first {
			t.Fatalf("b is a member of %s", at)
		}
		s.configure(false, nil)
		s.want("go on", s.run("go on"), "")
		s.restored(first)
	})
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

// A cluster is created from a snapshot. A node that is rebuilt afterwards joins: neither
// its environment nor its script restores anything.
func TestClusterFormsFromSnapshot(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		up := func(what, image string) {
			s.ws.Resources = clusterOf("a b c", image)
			s.ws.Resources[0].Values["restore"] = driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64)}
			if _, r := s.ws.Up(s.Context(), s.start(what)); r.Err() != nil {
				s.Fatalf("%s: %v", what, r.Err())
			}
			s.rest(30 * time.Second)
			s.expect(what, s.list(), "a b c")
		}
		restoring := func(want int) {
			s.Helper()
			if got := strings.Count(s.ws.State("etcd_cluster.this").Value.String(), `"ETCD_JOIN_RESTORE":`); got != want {
				s.Errorf("%d nodes restore the snapshot, want %d", got, want)
			}
		}
		up("form", "one")
		restoring(3)
		s.empty("formed")
		for left := 2; left >= 0; left-- {
			up("roll", "two")
			restoring(left)
		}
		s.empty("rolled")
	})
}
