// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plannedCluster has voters 1 to n, of which the dead do not answer, and learner 91.
func plannedCluster(n int, dead ...MemberID) *Snapshot {
	s := &Snapshot{ClusterID: 1, Linearizable: true, Answers: map[MemberID]Answer{}}
	add := func(id MemberID, learner bool) {
		s.Members = append(s.Members, Member{ID: id, Name: "m" + id.String(), Learner: learner, PeerURLs: []string{urlOf(id)}, ClientURLs: []string{"http://c" + id.String() + ":2379"}})
		s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 1, ReadOK: !learner, Learner: learner, Index: 9, Applied: 9}
		if slices.Contains(dead, id) {
			s.Answers[id] = Answer{State: Silent}
		}
	}
	for id := MemberID(1); id <= MemberID(n); id++ {
		add(id, false)
	}
	add(0x91, true)
	return s
}

// heard returns the snapshot with the members that the leader hears.
func heard(s *Snapshot, ids ...MemberID) *Snapshot {
	s.Heard = map[MemberID]bool{}
	for _, id := range ids {
		s.Heard[id] = true
	}
	return s
}

func urlOf(id MemberID) string { return "http://p" + id.String() + ":2380" }

// entry is that of member id, which follows its machine in a replacement.
func entry(id MemberID, is Effect) Entry {
	e := Entry{
		Object: uint64(id), Cluster: 1, ID: id, Name: "m" + id.String(), Effect: is,
		Votes: id < 0x91, HasRun: true, Built: true, Initial: 3, Read: true,
	}
	e.Before = &Side{Node: "n" + id.String(), Machine: "i" + id.String(), PeerURLs: []string{urlOf(id)}}
	if is != Removed {
		e.After = &Side{Node: e.Before.Node, Machine: Unknown, PeerURLs: e.Before.PeerURLs}
	}
	if is == Created {
		e.Before, e.ID, e.HasRun, e.Votes, e.Built, e.After.Node = nil, 0, false, false, false, Unknown
	}
	return e
}

// note is what the state has of a member, which is read before it is planned.
func note(id MemberID) Entry {
	e := entry(id, Held)
	e.Object, e.After = 0, nil
	return e
}

// effect is what the plan of etcd_cluster does to a member.
func effect(id MemberID, is Effect) Entry {
	return Entry{Cluster: 1, ID: id, Name: "m" + id.String(), Effect: is, Votes: true}
}

// as returns an entry with changes.
func as(e Entry, change func(*Entry)) Entry {
	before, after := e.Before, e.After
	if before != nil {
		e.Before = &Side{before.Node, before.Machine, before.PeerURLs}
	}
	if after != nil {
		e.After = &Side{after.Node, after.Machine, after.PeerURLs}
	}
	change(&e)
	return e
}

// rulings are the rules and the members that break each, for a comparison.
func rulings(broken []Ruling) string {
	names := map[Code][]string{}
	for _, r := range broken {
		names[r.Code] = append(names[r.Code], r.Facts.Names...)
	}
	var out []string
	for _, code := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[code])
		out = append(out, fmt.Sprint(code, " ", slices.Compact(names[code])))
	}
	return strings.Join(out, "; ")
}

func TestRules(t *testing.T) {
	created := func(e *Entry) { e.Effect, e.Before, e.ID, e.Object = Created, nil, 0, 100+e.Object }
	node := func(e *Entry) { e.After.Node = Unknown }
	replaced := func(e *Entry) { e.Effect = Replaced }
	stays := func(e *Entry) { e.After.Machine = e.Before.Machine }
	nodeless := func(e *Entry) { e.After.Node, e.Before.Node = "", "" }
	both := func(all ...func(*Entry)) func(*Entry) {
		return func(e *Entry) {
			for _, f := range all {
				f(e)
			}
		}
	}
	open := []Turn{{Name: "gone", Voters: 4}}
	for name, c := range map[string]struct {
		known   Known
		entries []Entry
		want    string
	}{
		"nothing":                         {Known{Snapshot: plannedCluster(3)}, nil, ""},
		"all held":                        {Known{Snapshot: plannedCluster(3)}, []Entry{entry(1, Held), entry(2, Held), entry(3, Held)}, ""},
		"a member follows its machine":    {Known{Snapshot: plannedCluster(3)}, []Entry{note(2), entry(2, Held), entry(2, Replaced)}, ""},
		"a dead one and a learner follow": {Known{Snapshot: plannedCluster(3, 2)}, []Entry{entry(2, Replaced), entry(0x91, Replaced)}, ""},
		"while another is open":           {Known{Snapshot: plannedCluster(3), Turns: open}, []Entry{entry(2, Replaced)}, "turn of another [m2]"},
		"a dead one while one is open":    {Known{Snapshot: plannedCluster(3, 2), Turns: open}, []Entry{entry(2, Replaced)}, ""},
		"one replaced, and growth":        {Known{Snapshot: plannedCluster(3)}, []Entry{entry(2, Replaced), entry(7, Created), entry(8, Created)}, ""},

		"a new node on its old machine":         {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), both(node, stays))}, "machine stays [m2]"},
		"a new node without a machine":          {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), both(node, func(e *Entry) { e.Before.Machine, e.After.Machine = "", "" }))}, ""},
		"a new node on a new machine":           {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), node)}, ""},
		"the same node and machine":             {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), stays)}, ""},
		"no node, the same machine":             {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), both(nodeless, stays))}, "process stays [m2]"},
		"no node, the same machine, never ran":  {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), both(nodeless, stays, func(e *Entry) { e.HasRun = false }))}, ""},
		"no node, another machine":              {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), nodeless)}, ""},
		"its peers have moved":                  {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), func(e *Entry) { e.Peers = []string{"http://old:2380", urlOf(2)} })}, "peers moved [m2]"},
		"its peers have moved, and it is dead":  {Known{Snapshot: plannedCluster(3, 2)}, []Entry{as(entry(2, Replaced), func(e *Entry) { e.Peers = []string{} })}, "peers moved [m2]"},
		"its peers have moved, and it is built": {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Replaced), both(node, func(e *Entry) { e.Peers = []string{} }))}, ""},
		"inside its window":                     {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Replaced), func(e *Entry) { e.WindowOpen = true })}, "window open [m1]"},
		"imported":                              {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Replaced), func(e *Entry) { e.Imported = true })}, "imported node [m1]"},
		"imported by this plan":                 {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Replaced), func(e *Entry) { e.Imported, e.Before.Node = true, "" })}, "imported node [m1]"},
		"imported, and built":                   {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Replaced), both(node, func(e *Entry) { e.Imported = true }))}, ""},

		"another key":                      {Known{Snapshot: plannedCluster(3)}, []Entry{entry(2, Removed), as(entry(2, Held), created)}, "two resources [m2]"},
		"another key of a kept one":        {Known{Snapshot: plannedCluster(3)}, []Entry{entry(2, Held), as(entry(2, Held), created)}, "two resources [m2]"},
		"two of one node":                  {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(7, Created), func(e *Entry) { e.After.Node = "x" }), as(entry(8, Created), func(e *Entry) { e.After.Node = "x" })}, "two resources [m7 m8]"},
		"two in the state":                 {Known{Snapshot: plannedCluster(3)}, []Entry{entry(2, Held), as(entry(2, Held), func(e *Entry) { e.Object = 9 })}, "two resources [m2]"},
		"a learner and its adopter":        {Known{Snapshot: plannedCluster(3)}, []Entry{as(note(0x91), func(e *Entry) { e.Learner = true }), as(entry(0x91, Held), func(e *Entry) { e.Learner = true }), as(entry(0x91, Held), both(nodeless, created, func(e *Entry) { e.Adopter = true }))}, ""},
		"one URL":                          {Known{Snapshot: plannedCluster(3)}, []Entry{entry(7, Created), as(entry(8, Created), func(e *Entry) { e.After.PeerURLs = []string{urlOf(7)} })}, "shared peer URL [m7 m8]"},
		"the URL of one that leaves":       {Known{Snapshot: plannedCluster(3)}, []Entry{note(2), entry(2, Removed), as(entry(8, Created), func(e *Entry) { e.After.PeerURLs = []string{urlOf(2)}; e.After.Node = "n8" })}, ""},
		"two change URLs":                  {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Held), func(e *Entry) { e.Readdressed = true }), as(entry(2, Held), func(e *Entry) { e.Readdressed = true })}, "second change of peer URLs [m1 m2]"},
		"two learners wait for one slot":   {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(7, Created), func(e *Entry) { e.Learner, e.BeforeMachine = true, true }), as(entry(8, Created), func(e *Entry) { e.Learner, e.BeforeMachine = true, true })}, "second addition [m7 m8]"},
		"over another's member":            {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(7, Created), func(e *Entry) { e.Found = Identity{Code: NameTaken} })}, "name taken [m7]"},
		"a new node over a living voter":   {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(2, Held), both(created, node))}, "already a member [m2]"},
		"a new node over a dead voter":     {Known{Snapshot: plannedCluster(3, 2)}, []Entry{as(entry(2, Held), both(created, node))}, ""},
		"a new node over a learner":        {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(0x91, Held), both(created, node))}, ""},
		"tainted":                          {Known{Snapshot: plannedCluster(3)}, []Entry{note(2), as(entry(2, Held), created)}, ""},
		"tainted, and another is replaced": {Known{Snapshot: plannedCluster(3)}, []Entry{note(2), as(entry(2, Held), created), entry(3, Replaced)}, "second replacement [m2 m3]; too few stay [m2 m3]"},
		"the only voter is tainted":        {Known{Snapshot: plannedCluster(1)}, []Entry{note(1), as(entry(1, Held), created)}, "every voter needed [m1]; too few stay [m1]"},
		"forgotten, with its machine":      {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Held), created)}, ""},
		"two forgotten":                    {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Held), created), as(entry(2, Held), created)}, "second replacement [m1 m2]; too few stay [m1 m2]"},
		"two forgotten on their machines":  {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Held), both(stays, created)), as(entry(2, Held), both(stays, created))}, ""},
		"forgotten, and its peers moved":   {Known{Snapshot: plannedCluster(3)}, []Entry{as(entry(1, Held), both(created, func(e *Entry) { e.Peers = []string{} }))}, "peers moved [m1]"},
		"forgotten and silent":             {Known{Snapshot: plannedCluster(3, 1)}, []Entry{as(entry(1, Held), created)}, ""},
		"forgotten, silent and needed":     {Known{Snapshot: plannedCluster(4, 1, 2)}, []Entry{as(entry(1, Held), created)}, "not probed [m1]"},
		"tainted, silent and needed":       {Known{Snapshot: plannedCluster(4, 1, 2)}, []Entry{note(1), as(entry(1, Held), created)}, "not probed [m1]"},
		"the leader hears it":              {Known{Snapshot: heard(plannedCluster(5, 1, 2), 1)}, []Entry{entry(1, Replaced)}, "others not active [m1]"},
		"the leader hears no one":          {Known{Snapshot: heard(plannedCluster(5, 1, 2))}, []Entry{entry(1, Replaced)}, ""},
		"the only voter is forgotten":      {Known{Snapshot: plannedCluster(1)}, []Entry{as(entry(1, Held), created)}, "every voter needed [m1]; too few stay [m1]"},
		"the cluster is created again":     {Known{Snapshot: plannedCluster(5, 1, 2)}, []Entry{as(entry(1, Held), node), as(entry(2, Held), node)}, "cluster created again [m1 m2]"},

		"lost, and all are replaced":  {Known{Lost: true}, []Entry{as(entry(1, Held), both(node, replaced)), as(entry(2, Held), both(node, replaced)), as(entry(3, Held), both(node, replaced))}, ""},
		"lost, and one answers":       {Known{Lost: true, Snapshot: plannedCluster(3, 2, 3)}, []Entry{as(entry(1, Held), both(node, replaced)), as(entry(2, Held), both(node, replaced)), as(entry(3, Held), both(node, created))}, ""},
		"lost, and its machine stays": {Known{Lost: true}, []Entry{as(entry(1, Held), both(node, replaced)), as(entry(2, Replaced), both(node, stays))}, "machine stays [m2]"},
		"lost, and one is shared":     {Known{Lost: true}, []Entry{entry(2, Held), as(entry(2, Held), created)}, "created, unobserved [m2]; two resources [m2]"},

		"silence":                         {Known{}, []Entry{entry(1, Replaced)}, ""},
		"silence, and it is needed":       {Known{}, []Entry{as(entry(1, Replaced), func(e *Entry) { e.Initial = 2 })}, "every voter needed, unobserved [m1]"},
		"silence, and two are replaced":   {Known{}, []Entry{entry(1, Replaced), entry(2, Replaced)}, "second replacement, unobserved [m1 m2]"},
		"silence, and two are tainted":    {Known{}, []Entry{note(1), as(entry(1, Held), created), note(2), as(entry(2, Held), created)}, "created, unobserved [m1 m2]; second replacement, unobserved [m1 m2]"},
		"silence, and a learner as well":  {Known{}, []Entry{entry(1, Replaced), entry(0x91, Replaced)}, ""},
		"silence, and growth":             {Known{}, []Entry{entry(7, Created)}, ""},
		"silence, and its node is known":  {Known{}, []Entry{as(entry(7, Created), func(e *Entry) { e.Built = true })}, "created, unobserved [m7]"},
		"silence, and nothing was formed": {Known{}, []Entry{as(entry(7, Created), func(e *Entry) { e.Built, e.Cluster = true, 0 })}, ""},
	} {
		if got := rulings(Judge(c.entries, c.known)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// naiveRulings is a second statement of the rules about voters.
func naiveRulings(n int, dead map[int]bool, effects []Effect, growth bool) string {
	var replaced, out, removed, quiet []string
	living, needed := 0, n/2+1
	for i := 1; i <= n; i++ {
		name := "m" + MemberID(i).String()
		if dead[i] {
			quiet = append(quiet, name)
		} else {
			living++
		}
		if effects[i] == Removed {
			removed = append(removed, name)
		}
		if !dead[i] && effects[i] == Replaced {
			replaced = append(replaced, name)
		}
		if !dead[i] && effects[i] != Held {
			out = append(out, name)
		}
	}
	var all []string
	say := func(is bool, code Code, names []string) {
		if is {
			all = append(all, fmt.Sprint(code, " ", names))
		}
	}
	goesAndComes := growth || len(replaced) > 0 && len(out) > len(replaced)
	say(len(replaced) > 0 && needed == n, EveryVoterNeeded, replaced)
	say(len(removed) == n, EveryVoterRemoved, removed)
	say(len(replaced) > 0 && len(quiet) > 0, OthersNotActive, replaced)
	say(len(replaced) > 1, SecondReplacement, replaced)
	say(len(out) > 0 && goesAndComes && living-len(out) < needed, TooFewStay, out)
	return strings.Join(all, "; ")
}

// Every plan of up to five voters, each alive or dead, with and without growth.
func TestRulesOfVoters(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for c := range 1 << n * pow(3, n) * 2 {
			effects, dead, ids := make([]Effect, n+1), map[int]bool{}, []MemberID(nil)
			growth, rest := c%2 == 1, c/2
			var entries []Entry
			for i := 1; i <= n; i++ {
				if dead[i] = rest%2 == 1; dead[i] {
					ids = append(ids, MemberID(i))
				}
				effects[i] = Effect(rest / 2 % 3)
				entries = append(entries, entry(MemberID(i), effects[i]))
				rest /= 6
			}
			if growth {
				entries = append(entries, entry(0x77, Created))
			}
			got, want := rulings(Judge(entries, Known{Snapshot: plannedCluster(n, ids...)})), naiveRulings(n, dead, effects, growth)
			if got != want {
				t.Fatalf("%d voters, dead %v, effects %v, growth %v: %q, want %q", n, ids, effects[1:], growth, got, want)
			}
		}
	}
}

func pow(x, n int) int {
	if n == 0 {
		return 1
	}
	return x * pow(x, n-1)
}

// With one entry more, no rule is broken less, and the order does not matter.
func TestEntriesComeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	maybe := func() bool { return r.IntN(3) == 0 }
	for range 3000 {
		n := 1 + r.IntN(5)
		known := Known{Snapshot: plannedCluster(n, MemberID(r.IntN(7)))}
		if maybe() {
			known = Known{}
		}
		var entries []Entry
		for range r.IntN(8) {
			id := MemberID(1 + r.IntN(n+2))
			e := entry(id, Effect(r.IntN(4)))
			e.Object = uint64(1 + r.IntN(9))
			if e.After != nil && maybe() {
				e.After.Node = Unknown
			}
			if e.After != nil && e.Before != nil && maybe() {
				e.After.Machine = e.Before.Machine
			}
			if e.After != nil && maybe() {
				e.After.PeerURLs = []string{urlOf(1)}
			}
			e.Readdressed, e.Learner, e.BeforeMachine, e.Built, e.Imported = maybe(), maybe(), maybe(), maybe(), maybe()
			e.Read, e.ByImport, e.Unapplied, e.Tainted = maybe(), maybe(), maybe(), maybe()
			if maybe() {
				e = note(id)
			}
			if maybe() {
				e = effect(id, []Effect{Removed, Replaced}[r.IntN(2)])
			}
			entries = append(entries, e)
		}
		all := rulings(Judge(entries, known))
		whole := judged(entries, known)
		for range 4 {
			r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			if got := rulings(Judge(entries, known)); got != all {
				t.Fatalf("in another order %q, not %q: %+v", got, all, entries)
			}
			for i := range entries {
				for code, names := range judged(entries[:i], known) {
					for _, name := range names {
						if !slices.Contains(whole[code], name) {
							t.Fatalf("%s of %s is broken by %d entries, and not by all: %+v", code, name, i, entries)
						}
					}
				}
			}
		}
	}
}

func judged(entries []Entry, known Known) map[Code][]string {
	out := map[Code][]string{}
	for _, r := range Judge(entries, known) {
		out[r.Code] = append(out[r.Code], r.Facts.Names...)
	}
	return out
}

// A new member without a node follows the provider's endpoints, but not to another cluster
// than that of the members in the state that do so too.
func TestStrays(t *testing.T) {
	held := Entry{Object: 1, Cluster: 1, ID: 1, Name: "a", Before: &Side{}, ByProvider: true}
	added := Entry{Object: 2, Cluster: 2, Name: "b", Effect: Created, After: &Side{}, ByProvider: true}
	for name, c := range map[string]struct {
		change func(held, added *Entry)
		want   string
	}{
		"elsewhere":                {func(*Entry, *Entry) {}, "other cluster reached [b]"},
		"the same cluster":         {func(_, added *Entry) { added.Cluster = 1 }, ""},
		"not known yet":            {func(_, added *Entry) { added.Cluster = 0 }, ""},
		"by a node":                {func(_, added *Entry) { added.ByProvider = false }, ""},
		"the other one by a node":  {func(held, _ *Entry) { held.ByProvider = false }, ""},
		"the other one is new too": {func(held, _ *Entry) { held.ID, held.Effect = 0, Created }, ""},
	} {
		a, b := held, added
		c.change(&a, &b)
		for _, entries := range [][]Entry{{a, b}, {b, a}} {
			if got := rulings(Strays(entries)); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// What entries of etcd_cluster say does not depend on their order, but for the latest plan
// of a restore, and with one entry more nothing is said less.
func TestClusterEntries(t *testing.T) {
	stored := ClusterEntry{Cluster: 1, Formed: true, Nodes: []string{"n1", "n2"}, Names: []string{"a", "b"}, Endpoints: []string{"http://a:2379"}, PeerURLs: []string{"http://p1:1", "http://p2:1"}}
	forming := ClusterEntry{Nodes: []string{"n3"}, PeerURLs: []string{"http://p3:1"}}
	planned := ClusterEntry{Object: "x", PeerURLs: []string{"http://p1:1", "http://p2:1"}}
	other := ClusterEntry{Object: "y", PeerURLs: []string{"http://P2:1/", "http://p4:1"}}
	gives := ClusterEntry{GivesUp: &GivingUp{GiveUpRequest: GiveUpRequest{Cluster: 1}}}
	says := func(clusters []ClusterEntry) (out []string) {
		for _, url := range []string{"http://p1:1", "http://p2:1", "http://p3:1", "http://p4:1"} {
			if c, ok := InState(clusters, []string{url}); ok {
				out = append(out, fmt.Sprint(url, " is in the state, of ", c.Cluster))
			}
		}
		for _, node := range []string{"n1", "n2", "n3"} {
			e, _ := Entry{Effect: Created, Initial: 3, After: &Side{Node: node}}.Located(clusters)
			if e.Built {
				out = append(out, fmt.Sprint(node, " is of ", e.Cluster))
			}
		}
		for _, name := range []string{"b", "c"} { // rebuilt, or new
			e, at := Entry{Effect: Created, Name: name, After: &Side{Node: Unknown, PeerURLs: []string{"http://p1:1"}}}.Located(clusters)
			if e.Built {
				out = append(out, fmt.Sprint(name, " is of ", e.Cluster, " at ", at))
			}
		}
		for _, c := range []ClusterEntry{planned, other} {
			for _, url := range c.SharedBy(clusters) {
				out = append(out, c.Object+" shares "+url)
			}
		}
		for _, g := range GivenUp(clusters) {
			out = append(out, fmt.Sprint(g.Cluster, " is given up"))
		}
		return out
	}
	all := []ClusterEntry{stored, forming, planned, other, gives, gives}
	want := []string{
		"http://p1:1 is in the state, of 1", "http://p2:1 is in the state, of 1", "http://p3:1 is in the state, of 0",
		"n1 is of 1", "n2 is of 1", "b is of 1 at [http://a:2379]", "x shares http://p2:1", "y shares http://p2:1", "1 is given up",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := says(all); !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", all, got, want)
		}
		for i := range all {
			for _, said := range says(all[:i]) {
				if !slices.Contains(want, said) {
					t.Fatalf("%v: %q is said by %d entries, and not by all", all, said, i)
				}
			}
		}
	}
	if e, _ := (Entry{Effect: Created, Built: true, Cluster: 5, After: &Side{Node: "n1"}}).Located(all); !e.Built || e.Cluster != 5 {
		t.Errorf("a node of a later member is located: %+v", e)
	}
	again := ClusterEntry{GivesUp: &GivingUp{GiveUpRequest: GiveUpRequest{Cluster: 1}, Again: true}}
	if g := GivenUp([]ClusterEntry{gives, again}); len(g) != 1 || !g[0].Again {
		t.Errorf("the first plan of a restore counts: %+v", g)
	}
}
