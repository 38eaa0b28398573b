// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Table collects what one plan does to members, and returns each rule that is broken
// once. The rules are those of [membership.Judge]. The zero value is ready to use.
type Table struct {
	mu      sync.Mutex
	entries []membership.Entry
	known   map[membership.ClusterID]membership.Known
	told    map[string]bool
	objects uint64
	urls    map[string]string // the etcd_cluster of each peer URL
	stored  []Stored
	lost    []GivingUp
	joined  map[membership.MemberID]bool
	over    bool
}

// Join notes that this run has created a resource for a member.
func (t *Table) Join(id membership.MemberID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.joined == nil {
		t.joined = map[membership.MemberID]bool{}
	}
	t.joined[id] = true
}

// HasJoined reports whether this run has created a resource for the member.
func (t *Table) HasJoined(id membership.MemberID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.joined[id]
}

// Stored is what a state has of an etcd_cluster.
type Stored struct {
	// Cluster is 0 if it is not known. Complete is true if the cluster has answered.
	Cluster  membership.ClusterID
	Complete bool
	// Nodes are the IDs of its nodes.
	Nodes, PeerURLs []string
}

// Store notes an etcd_cluster in the state.
func (t *Table) Store(s Stored) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stored = append(t.stored, s)
}

// Has reports whether the state has an etcd_cluster with one of the peer URLs. Terraform
// plans a tainted one as if it were new.
func (t *Table) Has(urls []string) (s Stored, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(func(s Stored) bool {
		return slices.ContainsFunc(s.PeerURLs, func(u string) bool { return slices.Contains(urls, u) })
	})
}

func (t *Table) find(is func(Stored) bool) (Stored, bool) {
	if i := slices.IndexFunc(t.stored, is); i >= 0 {
		return t.stored[i], true
	}
	return Stored{}, false
}

// Object returns the number of the next resource of the plan.
func (t *Table) Object() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects++
	return t.objects
}

// Close ends the plan: an apply has begun, and what it plans again shows less.
func (t *Table) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// Note adds what a state has of a member. It breaks no rule by itself.
func (t *Table) Note(e membership.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
}

// Enter adds an entry, with what is known of its cluster, and returns the rules that
// are broken since. A new member whose cluster is not known yet counts in each. The
// node of an initial member does not know its cluster, but the state of the etcd_cluster
// does once it has answered.
func (t *Table) Enter(e membership.Entry, known membership.Known) (broken []membership.Ruling) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	if t.known == nil {
		t.known, t.told = map[membership.ClusterID]membership.Known{}, map[string]bool{}
	}
	if e.Effect == membership.Created && e.Initial > 0 {
		s, _ := t.find(func(s Stored) bool { return s.Complete && slices.Contains(s.Nodes, e.After.Node) })
		e.Built, e.Cluster = s.Complete, cmp.Or(e.Cluster, s.Cluster)
	}
	t.entries = append(t.entries, e)
	if known.Turns == nil {
		known.Turns = t.known[e.Cluster].Turns
	}
	if _, ok := t.known[e.Cluster]; !ok || known.Snapshot != nil {
		t.known[e.Cluster] = known
	}
	for id := range t.known {
		entries := slices.DeleteFunc(slices.Clone(t.entries), func(x membership.Entry) bool {
			return x.Cluster != id && (x.Cluster != 0 || x.Effect != membership.Created)
		})
		known := t.known[id]
		known.Lost = slices.ContainsFunc(t.lost, func(g GivingUp) bool { return g.Cluster == id })
		broken = append(broken, t.tell(id, membership.Judge(entries, known))...)
	}
	return append(broken, t.tell(0, membership.Strays(t.entries))...)
}

// tell returns the rules that no earlier entry has broken.
func (t *Table) tell(id membership.ClusterID, rules []membership.Ruling) (broken []membership.Ruling) {
	for _, r := range rules {
		key := fmt.Sprint(r.Code, r.Names)
		if slices.Contains(membership.OfPlan, r.Code) {
			key = fmt.Sprint(r.Code, id)
		}
		if !t.told[key] {
			t.told[key] = true
			broken = append(broken, r)
		}
	}
	return broken
}

// Closed reports whether [Table.Close] was called.
func (t *Table) Closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// Lose notes that the plan of an etcd_cluster gives up a cluster. Its members are planned
// after that, and may then be replaced all together.
func (t *Table) Lose(g GivingUp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = append(slices.DeleteFunc(t.lost, func(other GivingUp) bool { return other.Cluster == g.Cluster }), g)
}

// Lost are the clusters that [Table.Lose] was called for.
func (t *Table) Lost() []GivingUp {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lost)
}

// Begin forgets what is noted of clusters: a walk of the graph of Terraform begins. Tests run
// a plan and its apply in one process.
func (t *Table) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.urls, t.joined, t.stored = nil, nil, nil
}

// Claim notes that an etcd_cluster of the plan has these peer URLs. It returns those that
// another one has: two queues for one cluster could rebuild two nodes at a time.
func (t *Table) Claim(object string, urls []string) (taken []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.urls == nil {
		t.urls = map[string]string{}
	}
	for _, u := range urls {
		if other, ok := t.urls[u]; ok && other != object {
			taken = append(taken, u)
		}
		t.urls[u] = object
	}
	return taken
}
