// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const thisCluster = "etcd_cluster.this"

// clusterOf is an etcd_cluster with a machine and an etcd_member for each of its nodes.
func clusterOf(names, image string) (out []driver.Resource) {
	wanted := driver.Values{}
	for _, name := range strings.Fields(names) {
		wanted[name] = driver.Values{"peer_urls": []any{"http://" + name + ".example:2380"}, "client_urls": []any{"http://" + name + ".example:2379"}}
	}
	out = append(out, driver.Resource{Type: "etcd_cluster", Name: "this", Values: driver.Values{
		"members": map[string]any(wanted), "revision": map[string]any{"image": image},
	}})
	for _, name := range strings.Fields(names) {
		node := "node." + name
		machine := driver.Resource{Type: "machine", Name: `node["` + name + `"]`, Values: driver.Values{
			"name": name, "image": driver.Ref{Resource: thisCluster, Attribute: node + ".revision.image"},
			"user_data": driver.JSON{Resource: thisCluster, Attribute: node + ".environment"},
		}}
		out = append(out, machine, driver.Resource{Type: "etcd_member", Name: `node["` + name + `"]`, Values: driver.Values{
			"config": driver.Ref{Resource: thisCluster, Attribute: node}, "machine_id": driver.Ref{Resource: machine.Address(), Attribute: "id"},
		}})
	}
	return out
}

// site is an etcd_cluster in a world, with its machines and members.
type site struct {
	*world
	ws    *driver.Workspace
	fleet *fleet
}

func newSite(w *world) *site {
	s := &site{world: w, ws: driver.New(w, driver.Values{}), fleet: newFleet(w)}
	s.ws.Machines = s.fleet
	return s
}

// empty fails the test unless another plan changes nothing.
func (s *site) empty(what string) {
	s.Helper()
	if plan, r := s.ws.Plan(s.Context(), s.start(what)); r.Err() != nil || len(plan.Actions()) > 0 {
		s.Fatalf("%s: the plan is not empty: %v %v", what, r, plan)
	}
}

// ids are the IDs of the members, by name.
func (s *site) ids() map[string]uint64 {
	out := map[string]uint64{}
	for _, m := range s.cluster.Members() {
		out[m.Name] = m.ID
	}
	return out
}

func (s *site) take(address, id string) driver.Result {
	return s.ws.Import(s.Context(), s.start("import "+address), address, id)
}

// clusterID is the ID of the cluster in hexadecimal.
func (w *world) clusterID() string {
	return membership.ClusterID(w.clusterAt(w.cluster.Processes()[0])).String()
}

// clusterAt is the ID of the cluster of a process.
func (w *world) clusterAt(p *etcdsim.Process) uint64 {
	list, err := w.network.Run("test").As("root").Client(p.ClientURL, p.ClientURL).MemberList(w.Context())
	w.must(err)
	return list.Header.ClusterId
}

// watch returns what fails the test if a call was made in the meantime that changes the
// membership, or a process has ended.
func (s *site) watch(what string) (end func()) {
	var calls []string
	before := s.network.Before
	s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		switch c.Request.(type) {
		case *pb.MemberAddRequest, *pb.MemberRemoveRequest, *pb.MemberUpdateRequest, *pb.MemberPromoteRequest:
			calls = append(calls, c.Run)
		}
		return before(ctx, c)
	}
	was := s.ids()
	return func() {
		s.Helper()
		s.network.Before = before
		if now := s.ids(); len(calls) > 0 || !maps.Equal(was, now) {
			s.Errorf("%s: calls %v, members %v, before %v", what, calls, now, was)
		}
	}
}

// set gives the etcd_cluster an argument.
func (s *site) set(argument string, value any) { s.ws.Resources[0].Values[argument] = value }

func (s *site) up(what string, opts ...driver.Option) driver.Result {
	_, r := s.ws.Up(s.Context(), s.start(what), opts...)
	return r
}

// fails fails the test unless the result is an error with the words.
func (w *world) fails(what string, r driver.Result, words ...string) {
	w.Helper()
	for _, word := range words {
		if r.Err() == nil || !strings.Contains(r.Err().Error(), word) {
			w.Errorf("%s: got %v, want an error with %q", what, r.Err(), word)
		}
	}
}

func machineOf(name string) string { return `machine.node["` + name + `"]` }
func memberOf(name string) string  { return `etcd_member.node["` + name + `"]` }

// silence hides all members from Terraform, and the discovery service.
func (s *site) silence() {
	s.network.Cut("", serviceAt)
	s.all(func(p *etcdsim.Process) { s.network.Cut("", p.ClientURL) })
}

func (s *site) hear() {
	s.network.Heal("", serviceAt)
	s.all(func(p *etcdsim.Process) { s.network.Heal("", p.ClientURL) })
}

// fresh are the names whose members are not those of before.
func (s *site) fresh(before map[string]uint64) (out []string) {
	for name, id := range s.ids() {
		if before[name] != id {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// says fails the test unless a result has the words, also in a warning.
func (s *site) says(what string, r driver.Result, words string) {
	s.Helper()
	if !strings.Contains(fmt.Sprint(r.Diagnostics), words) {
		s.Errorf("%s: %v, want %q", what, r.Diagnostics, words)
	}
}

// killedWhileAdding lets a run be killed that adds a member, after it has recorded its ID.
func (s *site) killedWhileAdding(name string) {
	s.Helper()
	ctx, end := context.WithCancel(s.Context())
	defer end()
	killed := false
	s.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error {
		if _, puts := call.Request.(*pb.TxnRequest); puts && strings.Contains(s.list(), etcdsim.PeerURL(name)) {
			killed = true
		}
		if killed && strings.HasPrefix(call.Run, "killed.") {
			end()
			return errKilled
		}
		return err
	}
	s.fleet.broken[name] = true
	s.ws.Resources = clusterOf("a b c "+name, "one")
	_, r := s.ws.Up(ctx, s.start("killed"))
	s.rest(time.Hour)
	if r.Err() == nil || !killed {
		s.Fatalf("it was not killed: %v, members %s", r, s.list())
	}
}

// restoreOf is the restore that replaces a cluster.
func restoreOf(cluster string, gone ...any) driver.Values {
	return driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64), "replaces_cluster": cluster, "gone": gone}
}

func (s *site) id() string {
	return driver.Attribute(s.ws.State(thisCluster).Value, "cluster_id")
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

// stuck is a cloud that destroys the machine of a, and no other.
type stuck struct{ *fleet }

func (s stuck) Destroy(ctx context.Context, id string) error {
	if !strings.HasPrefix(id, "a-") {
		return fmt.Errorf("%s is stuck", id)
	}
	return s.fleet.Destroy(ctx, id)
}
