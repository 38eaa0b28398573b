// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// ignoreUserData is ignore_changes for the user data of the machines, which exist, and what
// replaces them with their nodes. An import needs it, and endpoints of the provider.
func (w *walker) ignoreUserData() {
	w.ws.Provider = w.provider(w.names)
	for i, r := range w.ws.Resources {
		if r.Type == "machine" {
			w.ws.Resources[i].Values["user_data"] = driver.Attribute(w.ws.State(r.Address()).Value, "user_data")
			w.ws.Resources[i].ReplacedBy = []driver.Ref{{Resource: thisCluster, Attribute: fmt.Sprint("node.", r.Values["name"], ".id")}}
		}
	}
}

// addByHand adds a learner with etcdctl.
func (w *walker) addByHand(name string) {
	w.Helper()
	w.must(errOf(w.client(cmp.Or(w.via, "a")).MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)})))
}

func (w *walker) key(name string) string {
	return membership.MetadataPrefix + w.clusterID() + "/" + name
}

// put writes a key of the provider by hand.
func (w *walker) put(name, value string) {
	w.Helper()
	w.must(errOf(w.client("a").Put(w.Context(), w.key(name), value)))
}

// forget deletes the keys of the provider with a part of a name.
func (w *walker) forget(part string) {
	w.Helper()
	for _, key := range w.keys() {
		if strings.Contains(key, part) {
			w.must(errOf(w.client("a").Delete(w.Context(), key)))
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
func (w *walker) restoring() driver.Values {
	restore, ok := w.ws.Resources[0].Values["restore"].(driver.Values)
	if !ok {
		w.Fatal("no restore")
	}
	return restore
}

// takeApart takes the cluster out of the configuration. Its machines and members stay.
func (w *walker) takeApart() {
	all := w.ws.Resources
	w.ws.Resources = []driver.Resource{{Type: "machine", Name: "x"}}
	for _, r := range all[1:] { // their blocks are no longer of the cluster
		switch r.Type {
		case "machine":
			r.Values = driver.Values{"name": r.Values["name"], "image": "one", "user_data": driver.Attribute(w.ws.State(r.Address()).Value, "user_data")}
		default:
			r.Values = driver.Values{"name": r.Name[6:7], "peer_urls": []any{etcdsim.PeerURL(r.Name[6:7])}, "machine_id": r.Values["machine_id"]}
		}
		w.ws.Resources = append(w.ws.Resources, r)
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
	start := driver.Values{"node_id": name + "-" + id, "initial": slices.Contains(all, name), "initial_members": len(all), "imported": false, "replaces": []any{}}
	var peers, endpoints []any
	for _, other := range know {
		endpoints = append(endpoints, "http://"+other+".example:2379")
		if other != name {
			peers = append(peers, "http://"+other+".example:2380")
		}
	}
	start["peers"], start["endpoints"] = peers, endpoints
	config := driver.Values{"name": name, "peer_urls": []any{"http://" + name + ".example:2380"}, "start": start}
	return []driver.Resource{
		{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": id}},
		{Type: "etcd_member", Name: name, Values: driver.Values{"config": config, "machine_id": driver.Ref{Resource: "machine." + name, Attribute: "id"}}},
	}
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
		s.ws.Resources[i] = impatient(name, "one")
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
func TestPermissions(t *testing.T) { tell(t, "users.txt") }
