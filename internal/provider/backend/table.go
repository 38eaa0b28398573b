// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// Table holds the entries of one walk of Terraform's graph, a plan or an apply: what each
// resource does to its member, its etcd_cluster or its file. It is all that resources tell
// each other within the process. An entry is added and never taken back. The rules over
// entries are pure: [membership.Judge], [membership.Strays], and the functions about a
// [membership.ClusterEntry]. The zero value is ready to use.
type Table struct {
	mu       sync.Mutex
	members  []membership.Entry
	clusters []membership.ClusterEntry
	files    sync.Map // the etcd_snapshot that saves to each file
	known    map[membership.ClusterID]membership.Known
	said     sync.Map // the keys of [Table.firstTime]
	objects  atomic.Uint64
	reads    syncmap.Map[string, bool] // the IDs of what was read
	imports  syncmap.Map[string, bool] // the IDs of what was imported
	// kept are the objects of the etcd_cluster that were planned with a state, by their IDs.
	kept syncmap.Map[string, string]
	// gone are the voters of a state, by cluster, that a confirmed list does not have any more.
	gone map[string][]string
	// occupants are the members that this run creates, by machine.
	occupants map[string][]membership.Occupant
	applies   atomic.Bool
}

// Object returns the number of the next resource of the plan.
func (t *Table) Object() uint64 { return t.objects.Add(1) }

// Apply ends the plan: an apply has begun, and what it plans again shows less.
func (t *Table) Apply() { t.applies.Store(true) }

// Applies reports whether [Table.Apply] was called.
func (t *Table) Applies() bool { return t.applies.Load() }

// Note adds what a state has of a member, or that a resource was created for one. It
// breaks no rule by itself.
func (t *Table) Note(e membership.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = append(t.members, e)
}

// HasJoined reports whether this run has created a resource for the member.
func (t *Table) HasJoined(id membership.MemberID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.members, func(e membership.Entry) bool { return e.Effect == membership.Created && e.ID == id })
}

// Enter adds an entry, with what is known of its cluster, and returns the rules that
// are broken since. A new member whose cluster is not known yet counts in each.
func (t *Table) Enter(e membership.Entry, known membership.Known) (broken []membership.Ruling) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Applies() {
		return nil
	}
	if t.known == nil {
		t.known = map[membership.ClusterID]membership.Known{}
	}
	e.Tainted = e.TaintedBy(t.members)
	t.members = append(t.members, e)
	if known.Turns == nil {
		known.Turns = t.known[e.Cluster].Turns
	}
	if _, ok := t.known[e.Cluster]; !ok || known.Snapshot != nil {
		t.known[e.Cluster] = known
	}
	for id, about := range t.known {
		entries := t.entries(id)
		if id == e.Cluster {
			about.Gone, about.Awaited = known.Gone, known.Awaited
		}
		givenUp := func(g membership.GivingUp) bool { return g.Cluster == id }
		about.Lost = slices.ContainsFunc(membership.GivenUp(t.clusters), givenUp)
		broken = append(broken, t.unsaid(id, membership.Judge(entries, about))...)
	}
	return append(broken, t.unsaid(0, membership.Strays(t.members))...)
}

// entries are those about a cluster. A new member whose cluster is not known counts.
func (t *Table) entries(id membership.ClusterID) (about []membership.Entry) {
	for _, e := range t.members {
		if e.Cluster == id || e.Cluster == 0 && e.Effect == membership.Created {
			e.Read = e.Read || t.reads.Has(e.ID.String()) // a note comes before the member is read
			about = append(about, e)
		}
	}
	return about
}

// Settled is [membership.Known.Settled] for the entries so far.
func (t *Table) Settled(e membership.Entry, known membership.Known) (membership.Known, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return known.Settled(e, t.entries(e.Cluster))
}

// Affects reports whether the plan of an etcd_cluster replaces or removes members of a cluster.
func (t *Table) Affects(id membership.ClusterID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.members, func(e membership.Entry) bool { return e.Cluster == id && e.IsOfCluster() })
}

// Gone notes that the confirmed list of a cluster does not have a voter of the state any more. It
// returns the names of those of which that is known, in the order in which they were noted.
func (t *Table) Gone(cluster, name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone == nil {
		t.gone = map[string][]string{}
	}
	t.gone[cluster] = append(t.gone[cluster], name)
	return slices.Clone(t.gone[cluster])
}

// Occupy notes that this run creates a member on a machine. It returns the names of the
// members, with its own, if it creates others of the same cluster there.
func (t *Table) Occupy(machine string, o membership.Occupant) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.occupants == nil {
		t.occupants = map[string][]membership.Occupant{}
	}
	if !slices.ContainsFunc(t.occupants[machine], func(x membership.Occupant) bool { return x.Name == o.Name }) {
		t.occupants[machine] = append(t.occupants[machine], o)
	}
	return o.Beside(t.occupants[machine])
}

// unsaid returns the rules that no earlier entry has broken.
func (t *Table) unsaid(id membership.ClusterID, rules []membership.Ruling) (broken []membership.Ruling) {
	for _, r := range rules {
		key := fmt.Sprint(r.Code, r.Facts.Names)
		if slices.Contains(membership.OfPlan, r.Code) {
			key = fmt.Sprint(r.Code, id)
		}
		if t.firstTime(key) {
			broken = append(broken, r)
		}
	}
	return broken
}

// firstTime is [Backend.FirstTime].
func (t *Table) firstTime(key string) bool {
	_, said := t.said.LoadOrStore(key, true)
	return !said
}

// EnterCluster adds an entry of an etcd_cluster. It returns the peer URLs that another
// one of the plan has.
func (t *Table) EnterCluster(c membership.ClusterEntry) (shared []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shared = c.SharedBy(t.clusters)
	t.clusters = append(t.clusters, c)
	return shared
}

// Clusters are the entries of all etcd_cluster.
func (t *Table) Clusters() []membership.ClusterEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.clusters)
}

// Keep notes that an etcd_cluster is planned with its state.
func (t *Table) Keep(id, object string) { t.kept.Set(id, object) }

// Replaces reports whether this object takes the place of an etcd_cluster of the state, as far
// as it is known yet. Terraform plans a replacement first with the state and then without it,
// as the same object, and a tainted resource only without it: a new object, and no other one
// keeps the state.
func (t *Table) Replaces(object string, isNew bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.clusters, func(c membership.ClusterEntry) bool {
		kept, planned := t.kept.Get(c.ID)
		if planned || c.Object != "" {
			return planned && kept == object
		}
		return isNew && c.GivesUp == nil
	})
}

// Import notes that this run has imported the resource with an ID.
func (t *Table) Import(id string) { t.imports.Set(id, true) }

// Imports reports whether this run has imported the resource with an ID.
func (t *Table) Imports(id string) bool { return t.imports.Has(id) }

// Read notes that the resource with an ID was read. Terraform reads none during an apply or
// with -refresh=false. Else it reads a resource, and what that depends on, before it plans it.
func (t *Table) Read(id string) { t.reads.Set(id, true) }

// Fresh reports whether what is planned for the resource with an ID is not older than the
// run: the plan has read it, or an apply plans again.
func (t *Table) Fresh(id string) bool { return t.Applies() || t.reads.Has(id) }

// Misses reports whether a plan is made, and no etcd_cluster in this process has the node
// of a member: another process has it, for another provider block or another state.
func (t *Table) Misses(s membership.Side) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.reads.All()) > 0 && !t.Applies() && !slices.ContainsFunc(t.clusters, func(c membership.ClusterEntry) bool { return c.Has(s) })
}

// EnterFile notes that the plan of an etcd_snapshot saves to a file. It reports whether
// the plan of another one does.
func (t *Table) EnterFile(name, object string) (taken bool) {
	other, known := t.files.LoadOrStore(name, object)
	return known && other != object
}
