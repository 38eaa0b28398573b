// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
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

func (s *site) id() string { return driver.Attribute(s.ws.State(thisCluster).Value, "cluster_id") }

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

// nodeOfMachine is what replaces a machine with its node.
func nodeOfMachine(r driver.Resource) []driver.Ref {
	return []driver.Ref{{Resource: thisCluster, Attribute: fmt.Sprint("node.", r.Values["name"], ".id")}}
}

// ignoreUserData is ignore_changes for the user data of the machines, which exist, and what
// replaces them with their nodes. An import needs it, and endpoints of the provider.
func (o *operator) ignoreUserData() {
	o.ws.Provider = o.provider(o.names)
	for i, r := range o.ws.Resources {
		if r.Type == "machine" {
			o.ws.Resources[i].Values["user_data"] = driver.Attribute(o.ws.State(r.Address()).Value, "user_data")
			o.ws.Resources[i].ReplacedBy = nodeOfMachine(r)
		}
	}
}

// addByHand adds a learner with etcdctl.
func (o *operator) addByHand(name string) {
	o.Helper()
	o.must(errOf(o.client(cmp.Or(o.via, "a")).MemberAddAsLearner(o.Context(), []string{etcdsim.PeerURL(name)})))
}

func (o *operator) key(name string) string {
	return membership.MetadataPrefix + o.clusterID() + "/" + name
}

// put writes a key of the provider by hand.
func (o *operator) put(name, value string) {
	o.Helper()
	o.must(errOf(o.client("a").Put(o.Context(), o.key(name), value)))
}

// forget deletes the keys of the provider with a part of a name.
func (o *operator) forget(part string) {
	o.Helper()
	for _, key := range o.keys() {
		if strings.Contains(key, part) {
			o.must(errOf(o.client("a").Delete(o.Context(), key)))
		}
	}
}

// outOfSpace raises the alarm of a member.
func (w *world) outOfSpace(name string) {
	w.Helper()
	raise := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: w.members[name].ID(), Alarm: pb.AlarmType_NOSPACE}
	_, err := pb.NewMaintenanceClient(w.network.Run("test").Conn(w.cluster.Leader().ClientURL)).Alarm(w.Context(), raise)
	w.must(err)
}

// restoring are the arguments of restore.
func (o *operator) restoring() driver.Values {
	restore, ok := o.ws.Resources[0].Values["restore"].(driver.Values)
	if !ok {
		o.Fatal("no restore")
	}
	return restore
}

// takeApart takes the cluster out of the configuration. Its machines and members stay.
func (o *operator) takeApart() {
	all := o.ws.Resources
	o.ws.Resources = []driver.Resource{{Type: "machine", Name: "x"}}
	for _, r := range all[1:] { // their blocks are no longer of the cluster
		switch r.Type {
		case "machine":
			r.Values = driver.Values{"name": r.Values["name"], "image": "one",
				"user_data": driver.Attribute(o.ws.State(r.Address()).Value, "user_data")}
		default:
			r.Values = driver.Values{"name": r.Name[6:7], "peer_urls": []any{etcdsim.PeerURL(r.Name[6:7])}, "machine_id": r.Values["machine_id"]}
		}
		o.ws.Resources = append(o.ws.Resources, r)
	}
}

// nodesOf are the machines and members of nodes, of which some form the cluster.
func nodesOf(names, initial string) (out []driver.Resource) {
	for _, name := range strings.Fields(names) {
		out = append(out, nodeOfCluster(name, "1", initial)...)
	}
	return out
}

func nodeOfCluster(name, id, initial string) []driver.Resource {
	all := strings.Fields(initial)
	know := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(all), name))))
	start := node.Start{NodeID: name + "-" + id, Initial: slices.Contains(all, name), InitialMembers: len(all)}
	for _, other := range know {
		start.Endpoints = append(start.Endpoints, "http://"+other+".example:2379")
		if other != name {
			start.Peers = append(start.Peers, "http://"+other+".example:2380")
		}
	}
	config := driver.Values{"name": name, "peer_urls": []any{"http://" + name + ".example:2380"}, "start": start.Text().ValueString()}
	return []driver.Resource{
		{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": id}},
		{Type: "etcd_member", Name: name, Values: driver.Values{"config": config, "machine_id": driver.Ref{Resource: "machine." + name, Attribute: "id"}}},
	}
}

// nodeIDOf is the ID of the node that a member in the state has, "" without a member.
func nodeIDOf(m *driver.Object) string {
	if m == nil {
		return ""
	}
	s, _ := node.StartOf(types.StringValue(driver.Attribute(m.Value, "config", "start")))
	return s.NodeID
}

// impatient is a member without a node, for which a creation waits a minute.
func impatient(name, machine string) driver.Resource {
	m := member(name)
	m.Values["timeouts"] = driver.Values{"create": "1m"}
	if machine != "" {
		m.Values["machine_id"] = machine
	}
	return m
}

// taken is a site that manages the members of a cluster without nodes.
func (w *world) taken(names string) *site {
	s := newSite(w)
	w.all(func(p *etcdsim.Process) { s.fleet.adopt(p) })
	s.ws = w.adopt(names)
	s.ws.Machines = s.fleet
	for i, name := range strings.Fields(names) {
		s.ws.Resources[i] = impatient(name, name+"-1")
	}
	s.ok(s.up("machines"))
	return s
}

// listed is the peer URL that is listed for a member.
func (w *world) listed(name string) string {
	for _, listed := range w.cluster.Members() {
		if listed.Name == name {
			return listed.PeerURLs[0]
		}
	}
	return ""
}

// restart starts the process of a member again, at its own URL or another one.
func (w *world) restart(name, url string) {
	w.members[name].PowerOff()
	if url != "" {
		w.members[name].PeerURL = url
	}
	w.must(w.members[name].Start())
	w.rest(10 * time.Second)
}

func (w *world) records() int {
	return len(slices.DeleteFunc(w.keys(), func(k string) bool { return !strings.Contains(k, "/peer_urls/") }))
}

// statement returns what the refusal of a change asks the operator to state.
func (w *world) statement() string {
	w.Helper()
	for _, p := range w.cluster.Processes() {
		c := w.network.Run("test").Client(p.ClientURL, p.ClientURL)
		for _, key := range w.keys() {
			if got, err := c.Get(w.Context(), key); err == nil && strings.Contains(key, "/peer_urls/") && len(got.Kvs) == 1 {
				return fmt.Sprintf("%s:%d", key[strings.LastIndex(key, "/")+1:], got.Kvs[0].ModRevision)
			}
		}
	}
	w.Fatal("there is no record")
	return ""
}

// secure makes the users of the guide "Network and security", each with a password that
// follows from its name, and lets nobody in without a login from then on.
func (w *world) secure() {
	w.Helper()
	for _, line := range append([]string{"etcdctl user add root", "etcdctl user grant-role root root"}, acctest.Permissions(w)...) {
		w.etcdctl(line)
	}
	w.must(errOf(w.client("a").AuthEnable(w.Context())))
}

// etcdctl runs a command of root that concerns users.
func (w *world) etcdctl(line string) {
	w.Helper()
	c, f, err := w.client("a"), strings.Fields(line), error(nil)
	switch f[1] + " " + f[2] {
	case "user add":
		_, err = c.UserAdd(w.Context(), f[3], f[3]+"-pw")
	case "user grant-role":
		_, err = c.UserGrantRole(w.Context(), f[3], f[4])
	case "role add":
		_, err = c.RoleAdd(w.Context(), f[3])
	case "role grant-permission":
		kind, bad := clientv3.StrToPermissionType(f[5])
		w.must(bad)
		_, err = c.RoleGrantPermission(w.Context(), f[3], f[6], clientv3.GetPrefixRangeEnd(f[6]), kind)
	default:
		w.Fatalf("%q is no known command", line)
	}
	w.must(err)
}

// as are the arguments of a provider block that logs in.
func (w *world) as(names, user string) driver.Values {
	v := w.provider(names)
	v["username"], v["password"] = user, user+"-pw"
	return v
}

// TestPermissions shows that each feature works for the user that the guide makes for it.
func TestPermissions(t *testing.T) { runFile(t, "users.txt") }
