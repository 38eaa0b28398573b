// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"cmp"
	"encoding/json"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// NoteOf returns what the state of a resource has of a member. Terraform reads the state
// of each object before it plans the object, also of a tainted one without a refresh.
func NoteOf(typ string, state []byte) (e membership.Entry, ok bool) {
	var m struct {
		ID         string   `json:"id"`
		Cluster    string   `json:"cluster_id"`
		Name       string   `json:"name"`
		Machine    string   `json:"machine_id"`
		Role       string   `json:"role"`
		Version    string   `json:"version"`
		LearnerID  string   `json:"learner_id"`
		PeerURLs   []string `json:"peer_urls"`
		ClientURLs []string `json:"client_urls"`
		Endpoints  []string `json:"endpoints"`
		Config     *struct {
			Name     string   `json:"name"`
			PeerURLs []string `json:"peer_urls"`
			Start    struct {
				NodeID string `json:"node_id"`
			} `json:"start"`
		} `json:"config"`
	}
	if typ != "etcd_member" && typ != "etcd_learner" || json.Unmarshal(state, &m) != nil {
		return e, false
	}
	e = membership.Entry{
		Name: m.Name, Learner: typ == "etcd_learner", Adopter: m.LearnerID != "", Votes: m.Role == string(roleVoter),
		HasRun: m.Version != "" || len(m.ClientURLs) > 0, Before: &membership.Side{Machine: m.Machine, PeerURLs: m.PeerURLs}, ByProvider: m.Config == nil && len(m.Endpoints) == 0,
	}
	if c := m.Config; c != nil {
		e.Before.Node, e.Name = c.Start.NodeID, cmp.Or(m.Name, c.Name)
		if m.PeerURLs == nil {
			e.Before.PeerURLs = c.PeerURLs
		}
	}
	var bad, worse error
	e.ID, bad = membership.ParseMemberID(m.ID)
	e.Cluster, worse = membership.ParseClusterID(m.Cluster)
	return e, bad == nil && worse == nil
}
