// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

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

func (w *walker) forgetMembers() {
	for _, name := range strings.Fields(w.names) {
		w.ws.Forget(memberOf(name))
	}
}

// breakAll lets the next machines not boot.
func (w *walker) breakAll(are bool) {
	for _, name := range strings.Fields(w.names) {
		w.fleet.broken[name] = are
	}
}

// addByHand adds a learner with etcdctl.
func (w *walker) addByHand(name string) {
	w.Helper()
	if _, err := w.client("a").MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)}); err != nil {
		w.Fatal(err)
	}
}

// outside adds a member without a node.
func (w *walker) outside(name string) {
	w.Helper()
	w.ws.Provider = w.provider(w.names)
	w.ws.Resources = append(w.ws.Resources, nodes([]string{name}, "one")...)
	w.ok(w.up("outside"))
	w.rest(time.Minute)
}

// withdrawOutside ends it.
func (w *walker) withdrawOutside(name string) {
	w.Helper()
	w.ok(w.up("as it was"))
	w.ws.Resources = clusterOf(w.names, "one")
	w.ok(w.up("without " + name))
}

func (w *walker) key(name string) string {
	return membership.MetadataPrefix + w.clusterID() + "/" + name
}

// put writes a key of the provider by hand.
func (w *walker) put(name, value string) {
	w.Helper()
	if _, err := w.client("a").Put(w.Context(), w.key(name), value); err != nil {
		w.Fatal(err)
	}
}

// forget deletes the keys of the provider with a part of a name.
func (w *walker) forget(part string) {
	w.Helper()
	for _, key := range w.keys() {
		if strings.Contains(key, part) {
			if _, err := w.client("a").Delete(w.Context(), key); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// outOfSpace raises an alarm.
func (w *walker) outOfSpace() {
	w.Helper()
	raise := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: w.ids()["a"], Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(w.network.Run("test").Conn(etcdsim.ClientURL("a"))).Alarm(w.Context(), raise); err != nil {
		w.Fatal(err)
	}
}

// restoring are the arguments of restore.
func (w *walker) restoring() driver.Values {
	restore, ok := w.ws.Resources[0].Values["restore"].(driver.Values)
	if !ok {
		w.Fatal("no restore")
	}
	return restore
}

// leave takes a name out of the configuration, while its machine and its member are in no
// state.
func (w *walker) leave(name string) {
	w.ws.Forget(memberOf(name))
	w.ws.Forget(machineOf(name))
	w.names = strings.TrimSuffix(w.names, " "+name)
	w.ws.Resources = clusterOf(w.names, "one")
}

// living removes the node of a member that lives, and that the state has lost.
func (w *walker) living(verb string) {
	w.begin()
	w.place = "etcd_member.c"
	w.leave("c")
	r := w.up("remove c")
	w.ws.Provider = w.provider(w.names)
	w.follow(r, "Member c is no longer managed", verb)
	if verb == "terraform import" {
		w.ws.Resources = append(w.ws.Resources, member("c"))
		w.ok(w.up("as it was"))
		w.ws.Resources = clusterOf(w.names, "one")
	}
}
