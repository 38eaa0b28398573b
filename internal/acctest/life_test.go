// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { Main(m) }

// The whole life of a cluster: one apply forms it, one member joins by environment only
// and one by the join script, a follower and the leader leave, and it is destroyed.
// (With ETCD_TEST_FULL=1 also with one operation at a time.)
func TestAccLife(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options FleetOptions
		args    []string
	}{
		"3.6 one operation a time": {options: FleetOptions{Version: etcdtest.V36}, args: []string{"-parallelism=1"}},
		"3.7 installed by init":    {options: FleetOptions{Version: etcdtest.V37, Mirror: true}},
	} {
		if !c.options.Mirror && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life(t, NewFleet(t, c.options), c.args...)
		})
	}
}

func life(t *testing.T, f *Fleet, args ...string) {
	first := f.Plan()
	creates := map[string]string{}
	for _, name := range f.Founders {
		maps.Copy(creates, Changes(name, "create"))
	}
	if f.Registry != nil {
		creates["etcd_discovery_token.this"] = "create"
	}
	first.MustDo(creates)
	for _, name := range f.Founders {
		first.MustNotKnow(Address("etcd_member", name), "id", "cluster_id", "role", "client_urls", "version", "config", "machine_id")
		first.MustKnow(Address("etcd_member", name), "peer_urls", []any{f.Nodes[name].Peer})
	}
	f.Apply(args...).MustSucceed().MustBeQuiet()
	f.MustVote(f.Founders...)
	if f.Options.Password != "" {
		f.EnableAuth()
	}
	f.Plan().MustBeEmpty()
	f.mustMatchState(t, f.Founders...)

	grow(t, f, args...)
	shrink(t, f, args...)

	left := slices.Sorted(maps.Keys(f.Nodes))
	destroyed := f.Destroy(args...).MustSucceed()
	MustForgetLast(t, destroyed, left...)
	f.MustBeGone()
}

// grow adds d, whose machine has no join script, and then e.
func grow(t *testing.T, f *Fleet, args ...string) {
	t.Helper()
	members := slices.Clone(f.Founders)
	for _, name := range []string{"d", "e"} {
		f.Add(name)
		script := name == "e"
		f.Nodes[name].Script = &script
		plan := f.Plan()
		plan.MustDo(Changes(name, "create")) // and no changes of the others
		plan.MustNotKnow(Address("etcd_member_config", name), "id", "founders", "environment", "initial_cluster", "join_script_base64gzip", "status")
		writer := f.Writer(members...)
		f.Apply(args...).MustSucceed().MustBeQuiet()
		f.MustNotPause(writer, Pause, members...)
		members = append(members, name)
		f.MustVote(members...)
		f.mustMatchState(t, name)
	}
	f.Plan().MustBeEmpty()
}

// shrink removes a follower and then the leader.
func shrink(t *testing.T, f *Fleet, args ...string) {
	t.Helper()
	members := slices.Sorted(maps.Keys(f.Nodes))
	leader := f.Leader(members...)
	for _, follower := range members {
		if follower != leader {
			members = remove(t, f, members, follower, args...)
			break
		}
	}
	leader = f.Leader(members...)
	members = remove(t, f, members, leader, args...)
	if len(f.Log(leader, "leadership transfer finished")) == 0 {
		t.Errorf("the log of %s does not say that it handed leadership over", leader)
	}
	f.Leader(members...)
	f.Plan().MustBeEmpty()
}

// remove removes one node and returns the others. The log of the remaining
// members, the machine's events and the output of the CLI show that the member
// was removed before its process ended.
func remove(t *testing.T, f *Fleet, members []string, name string, args ...string) []string {
	t.Helper()
	id := fmt.Sprint(f.State(Address("etcd_member", name))["id"])
	others := slices.DeleteFunc(slices.Clone(members), func(s string) bool { return s == name })
	f.Drop(name)
	f.Plan().MustDo(Changes(name, "delete"))
	writer := f.Writer(others...)
	begin := time.Now()
	removal := f.Apply(args...).MustSucceed().MustBeQuiet()
	f.MustNotPause(writer, Pause, others...)
	f.MustVote(others...)

	// Members apply the removal one after the other, and the process of the
	// removed member ends when it applies it: the first time counts.
	left := time.Time{}
	for _, m := range members {
		for _, line := range f.Log(m, "removed member") {
			if line.Fields["removed-remote-peer-id"] == id && (left.IsZero() || line.At.Before(left)) {
				left = line.At
			}
		}
	}
	if left.IsZero() {
		t.Fatalf("no log says that %s (%s) was removed", name, id)
	}
	exits := 0
	for _, e := range f.Events(name) {
		if strings.HasPrefix(e.What, "exit") && e.At.After(begin) {
			exits++
			if e.At.Before(left.Truncate(time.Millisecond)) {
				t.Errorf("the process of %s ended at %v, before its member was removed at %v", name, e.At, left)
			}
		}
	}
	if exits == 0 {
		t.Errorf("no event says that the process of %s ended", name)
	}
	if at := removal.At("apply_start", Address("terraform_data.machine", name), "delete"); at.Before(left) {
		t.Errorf("the machine of %s was taken down from %v on, before its member was removed at %v", name, at, left)
	}
	return others
}

// mustMatchState compares the state with the cluster.
func (f *Fleet) mustMatchState(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		state := f.State(Address("etcd_member", name))
		for _, m := range f.Members(name) {
			if m.Name != name {
				continue
			}
			want := map[string]any{
				"id": fmt.Sprintf("%x", m.ID), "name": name, "role": "voter", "peer_urls": []any{f.Nodes[name].Peer},
				"client_urls": []any{f.Nodes[name].Client}, "wait_until": "voting",
			}
			for attribute, value := range want {
				if fmt.Sprint(state[attribute]) != fmt.Sprint(value) {
					t.Errorf("%s: %s is %v in state, want %v", name, attribute, state[attribute], value)
				}
			}
			if v := fmt.Sprint(state["version"]); !strings.HasPrefix(v, string(f.Version())+".") {
				t.Errorf("%s: version is %v in state, want a %s", name, v, f.Version())
			}
		}
	}
}
