// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"encoding/json"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

// NoteOf returns what the state of a resource has of an etcd_cluster. Terraform reads the
// state of each object before it plans the object, also of a tainted one without a refresh.
func NoteOf(typ string, state []byte) (s membership.ClusterEntry, ok bool) {
	var m struct {
		Cluster  string `json:"cluster_id"`
		Complete bool   `json:"complete"`
		Node     map[string]struct {
			ID       string   `json:"id"`
			PeerURLs []string `json:"peer_urls"`
		} `json:"node"`
	}
	if typ != "etcd_cluster" || json.Unmarshal(state, &m) != nil {
		return s, false
	}
	s.Formed = m.Complete
	s.Cluster, _ = membership.ParseClusterID(m.Cluster) // 0 if it is not known
	for _, n := range m.Node {
		s.Nodes, s.PeerURLs = append(s.Nodes, n.ID), append(s.PeerURLs, attribute.NormalURLs(n.PeerURLs)...)
	}
	return s, true
}
