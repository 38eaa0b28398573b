// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"strings"

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

// addByHand adds a learner with etcdctl.
func (w *walker) addByHand(name string) {
	w.Helper()
	if _, err := w.client("a").MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)}); err != nil {
		w.Fatal(err)
	}
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

// token begins with a token for one member, of a service: a discovery cluster would need a
// provider block of its own. Nothing is left at the end.
func (w *walker) token() *tokenWorld {
	k := newToken(w.world, "service")
	k.ws, w.names = w.ws, ""
	w.ws.Resources = []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: k.of(1)}}
	return k
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
