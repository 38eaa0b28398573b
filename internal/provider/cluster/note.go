// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"encoding/json"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

// NoteOf returns the ID of a cluster and the peer URLs of its nodes from the state of a
// resource, if that is an etcd_cluster. Terraform reads the state of each object before it
// plans the object, also of a tainted one without a refresh.
func NoteOf(typ string, state []byte) (id membership.ClusterID, peerURLs []string, ok bool) {
	var m struct {
		Cluster string `json:"cluster_id"`
		Node    map[string]struct {
			PeerURLs []string `json:"peer_urls"`
		} `json:"node"`
	}
	if typ != "etcd_cluster" || json.Unmarshal(state, &m) != nil {
		return 0, nil, false
	}
	id, _ = membership.ParseClusterID(m.Cluster) // 0 if it is not known
	for _, n := range m.Node {
		peerURLs = append(peerURLs, attribute.NormalURLs(n.PeerURLs)...)
	}
	return id, peerURLs, true
}
