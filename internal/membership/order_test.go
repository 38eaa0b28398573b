// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// The rules about the order of Terraform, and about what the plan of etcd_cluster shows.
func TestRulesOfOrder(t *testing.T) {
	unapplied := func(e Entry) Entry { return as(e, func(e *Entry) { e.Unapplied = true }) }
	byPlan := func(e Entry) Entry { return as(e, func(e *Entry) { e.ByImport = true }) }
	unread := func(e Entry) Entry { return as(e, func(e *Entry) { e.Read = false }) }
	anew := func(e Entry) Entry { return as(e, func(e *Entry) { e.After.Node = Unknown }) }
	tainted := as(entry(2, Held), func(e *Entry) { e.Effect, e.Before, e.ID, e.Object = Created, nil, 0, 102 })
	on := func(machine string, e Entry) Entry { return as(e, func(e *Entry) { e.After.Machine = machine }) }
	of := func(id ClusterID, e Entry) Entry { e.Cluster = id; return e }
	built := as(entry(7, Created), func(e *Entry) { e.Built, e.Nodes = true, []string{"n1"} })
	asking := func(peers ...string) Entry { return as(entry(2, Replaced), func(e *Entry) { e.Peers = peers }) }
	const alone = "dropped without their members "
	const notApplied, notRead = "not applied since its import [m2]", "not read by this plan [m2]"
	three, five := Known{Snapshot: plannedCluster(3)}, Known{Snapshot: plannedCluster(5)}
	rebuilt, one := effect(1, Replaced), on("x", entry(1, Held))
	awaited, judged := five, three
	awaited.Awaited, judged.Awaited = true, true
	dead := Known{Snapshot: plannedCluster(3, 2)}
	drop := func(more ...Entry) []Entry {
		return append([]Entry{effect(3, Removed), effect(4, Removed), effect(5, Removed)}, more...)
	}
	for name, c := range map[string]struct {
		known   Known
		entries []Entry
		want    string
	}{
		"imported, and replaced":     {three, []Entry{unapplied(entry(2, Replaced))}, ""},
		"imported, and not read":     {three, []Entry{unapplied(unread(entry(2, Replaced)))}, notRead},
		"imported by this plan":      {three, []Entry{byPlan(entry(2, Replaced))}, "imported by this plan [m2]"},
		"imported, replaced, silent": {Known{}, []Entry{unapplied(entry(2, Replaced))}, notApplied},
		"by this plan, and held":     {three, []Entry{byPlan(entry(2, Held))}, ""},
		"by this plan, and dead":     {dead, []Entry{byPlan(entry(2, Replaced))}, ""},
		"imported, and removed":      {judged, []Entry{unapplied(entry(2, Removed))}, notApplied},
		"imported, silent":           {Known{Awaited: true}, []Entry{unapplied(entry(2, Removed))}, notApplied},
		"imported, and held":         {three, []Entry{unapplied(entry(2, Held))}, ""},
		"imported, and dead":         {dead, []Entry{unapplied(entry(2, Replaced))}, ""},
		"imported, a learner":        {three, []Entry{unapplied(entry(0x91, Removed))}, ""},
		"imported, and judged later": {judged, []Entry{unapplied(entry(2, Removed)).Waiting()}, ""},
		"imported, and all destroyed": {
			judged, []Entry{entry(1, Removed), unapplied(entry(2, Removed)), entry(3, Removed)},
			"every voter removed [m1 m2 m3]",
		},
		"imported, and given up": {Known{Lost: true}, []Entry{unapplied(anew(entry(1, Replaced)))}, ""},

		"not read, and replaced": {three, []Entry{unread(entry(2, Replaced))}, notRead},
		"not read, silent":       {Known{}, []Entry{unread(entry(2, Replaced))}, notRead},
		"not read, and rebuilt":  {three, []Entry{unread(on("", anew(entry(2, Replaced))))}, notRead},
		"not read, and tainted":  {three, []Entry{unread(note(2)), tainted}, notRead},
		"not read, and removed":  {three, []Entry{unread(entry(2, Removed))}, ""},
		"not read, and dead":     {dead, []Entry{unread(entry(2, Replaced))}, ""},
		"not read, same machine": {three, []Entry{unread(on("i2", entry(2, Replaced)))}, ""},

		"two on one machine": {
			three, []Entry{one, on("x", entry(2, Held)), on("y", entry(3, Held))}, "shared machine [m1 m2]",
		},
		"a new one on the machine of another": {
			three, []Entry{one, on("x", entry(7, Created))}, "shared machine [m1 m7]",
		},
		"machines that are not known": {three, []Entry{entry(7, Created), entry(8, Created)}, ""},
		"no machine IDs":              {three, []Entry{on("", entry(1, Held)), on("", entry(2, Held))}, ""},
		"two clusters on one machine": {
			Known{}, []Entry{of(0, on("x", entry(7, Created))), of(0, on("x", entry(8, Created)))}, "",
		},

		"rebuilt, and its member follows": {three, []Entry{rebuilt, anew(entry(1, Replaced)), entry(2, Held)}, ""},
		"rebuilt, and one is replaced":    {three, []Entry{rebuilt, entry(2, Replaced)}, "second replacement [m1 m2]"},
		"rebuilt, and one is removed":     {three, []Entry{rebuilt, entry(3, Removed)}, "too few stay [m1 m3]"},
		"rebuilt, and one of five goes":   {five, []Entry{rebuilt, entry(3, Removed)}, ""},
		"dropped, and one is replaced":    {three, drop(entry(2, Replaced)), "too few stay [m2 m3]"},
		"dropped, and silence":            {Known{}, []Entry{effect(3, Removed), entry(2, Replaced)}, ""},

		"five to three":              {awaited, []Entry{effect(4, Removed), effect(5, Removed), entry(1, Held)}, ""},
		"five to two":                {awaited, drop(entry(3, Removed), entry(4, Removed), entry(5, Removed)), ""},
		"five to two, one alone":     {awaited, drop(entry(3, Removed), entry(4, Removed)), alone + "[m5]"},
		"five to two, all alone":     {awaited, drop(entry(1, Held)), alone + "[m3 m4 m5]"},
		"five to two, not all known": {five, drop(entry(1, Held)), ""},

		"silence, and all machines are new": {Known{Gone: true}, []Entry{built}, "all machines new [m7]"},
		"and a voter is in the state":       {Known{Gone: true}, []Entry{note(1), built}, "created, unobserved [m7]"},

		"one of two peers is a voter": {three, []Entry{asking("http://old:2380", urlOf(3))}, "peers moved [m2]"},
		"its peers are the voters":    {three, []Entry{asking(urlOf(1), urlOf(3))}, ""},
	} {
		if got := rulings(Judge(c.entries, c.known)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A member follows its machine exactly if its join script starts it there, as the rules of the
// script say, when the voters that stay and live give the list with the member as a new learner.
func TestConfirmableAsTheScriptDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	starts := 0
	for range 5000 {
		n := 1 + r.IntN(6)
		var dead []MemberID
		var entries []Entry
		silent := map[MemberID]bool{}
		for id := MemberID(2); id <= MemberID(n); id++ {
			switch r.IntN(6) {
			case 0:
				dead, silent[id] = append(dead, id), true
			case 1:
				entries, silent[id] = append(entries, entry(id, Removed)), true
			}
		}
		s := plannedCluster(n, dead...)
		e := entry(1, Replaced)
		for id := MemberID(1); id <= MemberID(n+3); id++ {
			if r.IntN(3) > 0 {
				e.Peers = append(e.Peers, urlOf(id))
			}
		}
		if r.IntN(4) == 0 {
			e.Peers = append(e.Peers, urlOf(0x91))
		}
		list := rules.Answer{Cluster: 1, Members: []rules.Member{{ID: 99, PeerURL: urlOf(1), Learner: true}}}
		for _, m := range s.Members {
			if m.ID != 1 {
				list.Members = append(list.Members, rules.Member{
					ID: uint64(m.ID), PeerURL: m.PeerURLs[0], Learner: m.Learner, Started: true,
				})
			}
		}
		machine := rules.Machine{PeerURL: urlOf(1), Answers: map[string]rules.Answer{}}
		machine.Peers = slices.DeleteFunc(slices.Clone(e.Peers), func(u string) bool { return u == machine.PeerURL })
		for _, m := range list.Members[1:] {
			if !silent[MemberID(m.ID)] {
				machine.Answers[m.PeerURL] = list
			}
		}
		does, _ := machine.Decide()
		p := planned{Known{Snapshot: s}, append(entries, e)}
		if got, want := p.confirmable(e), does == rules.Join; got != want {
			t.Fatalf("%d voters, dead %v, removed %d, peers %v: %t, and the script decides %q",
				n, dead, len(entries), e.Peers, got, does)
		}
		starts += last(does == rules.Join)
	}
	if starts < 500 {
		t.Errorf("only %d cases start", starts)
	}
}

// What a plan must await of other resources, and what they then say.
func TestSettled(t *testing.T) {
	imported := as(entry(1, Removed), func(e *Entry) { e.Unapplied, e.Read = true, false })
	read := as(imported, func(e *Entry) { e.Read = true })
	create := func(id MemberID) Entry {
		return as(entry(id, Created), func(e *Entry) {
			e.Built, e.After.Node, e.Nodes = true, "n"+id.String(), []string{"n1", "n2"}
		})
	}
	kept := as(create(2), func(e *Entry) { e.After.Machine = "i2" })
	two, three := Known{Snapshot: plannedCluster(2)}, Known{Snapshot: plannedCluster(3)}
	five := Known{Snapshot: plannedCluster(5)}
	second, replaced := entry(2, Removed), entry(2, Replaced)
	out := []Entry{entry(3, Removed), entry(4, Removed), entry(5, Removed)}
	rebuilt := []Entry{effect(2, Replaced)}
	dropped := []Entry{effect(3, Removed), effect(4, Removed), effect(5, Removed)}
	for name, c := range map[string]struct {
		known         Known
		e             Entry
		others        []Entry
		settled, gone bool
	}{
		"nothing to await":                      {three, entry(1, Held), nil, true, false},
		"an imported one goes":                  {three, imported, nil, false, false},
		"and it was read: no destroy":           {three, read, nil, true, false},
		"and so do the others":                  {three, imported, append(out[:1:1], second), true, false},
		"and every other but one":               {three, imported, []Entry{second, entry(3, Held)}, false, false},
		"a new one in silence":                  {Known{}, create(1), nil, false, false},
		"and every other":                       {Known{}, create(1), []Entry{create(2)}, true, true},
		"and another has its machine":           {Known{}, create(1), []Entry{kept}, false, false},
		"and another is in the state":           {Known{}, create(1), []Entry{create(2), note(2)}, false, false},
		"names go, without their members":       {five, entry(1, Held), dropped, false, false},
		"names go, with their members":          {five, entry(1, Held), append(dropped, out...), true, false},
		"two names of five go":                  {five, entry(1, Held), dropped[1:], true, false},
		"a name goes, and nothing was observed": {Known{}, entry(1, Held), dropped[:1], false, false},
		"and its member, too":                   {Known{}, entry(1, Held), append(dropped[:1:1], out[0]), true, false},
		"a node is rebuilt in silence":          {Known{}, entry(1, Held), rebuilt, false, false},
		"and its member is replaced":            {Known{}, entry(1, Held), append(rebuilt, replaced), true, false},
		"names go, and their members are gone":  {two, entry(1, Held), dropped, true, false},
	} {
		known, settled := c.known.Settled(c.e, append(slices.Clone(c.others), c.e))
		if settled != c.settled || known.Gone != c.gone {
			t.Errorf("%s: settled %t, gone %t", name, settled, known.Gone)
		}
	}
}

// What the plan of etcd_cluster does to members, whether or not they are in the plan.
func TestEffects(t *testing.T) {
	member := func(id MemberID, node, name string) NodeHealth {
		return NodeHealth{Node: node, Name: name, Member: id, Voter: true, Alive: true, Own: true, Status: NodeVoter}
	}
	nodes := []Node{{ID: "n1", Name: "a"}, {ID: "n2", Name: "b"}, {ID: "n3", Name: "c", Replaces: []string{"n0"}}}
	health := NodesHealth{Observed: true, Members: []NodeHealth{
		member(1, "n1", "a"), member(2, "n2", "b"), member(3, "n3", "c"), {Name: "x", Member: 9, Voter: true},
	}}
	stay := map[string]PlannedNode{"a": {}, "b": {}, "c": {}}
	without := map[string]PlannedNode{"a": {}, "b": {}}
	change := func(do func(h []NodeHealth)) NodesHealth {
		h := NodesHealth{Observed: true, Members: slices.Clone(health.Members)}
		do(h.Members)
		return h
	}
	dropped := change(func(h []NodeHealth) { h[3].Dropped = true })
	before := change(func(h []NodeHealth) { h[2].Node = "n0" })
	unlisted := change(func(h []NodeHealth) { h[0].Member = 0 })
	onTheWay := change(func(h []NodeHealth) { h[2].Own = false })
	unseen := NodesHealth{Observed: true, Members: health.Members[:2]}
	stays, goes := NodesPlan{Nodes: stay}, NodesPlan{Nodes: without}
	back := NodesPlan{Nodes: stay, TakenBack: []string{"c"}}
	rolls := NodesPlan{Nodes: stay, Rebuilt: "a"}
	for name, c := range map[string]struct {
		plan   NodesPlan
		health NodesHealth
		want   []Effect
	}{
		"nothing":                                      {stays, health, nil},
		"one is rebuilt":                               {rolls, health, []Effect{Replaced}},
		"a name is gone":                               {goes, health, []Effect{Removed}},
		"an earlier apply dropped it":                  {stays, dropped, []Effect{Removed}},
		"its member has not followed yet":              {stays, onTheWay, []Effect{Replaced}},
		"and it is taken back":                         {back, onTheWay, nil},
		"no member of it is listed":                    {rolls, unlisted, nil},
		"silence, and a rebuild since the last health": {stays, before.Unobserved(), []Effect{Replaced}},
		"silence, and a name is gone":                  {goes, health.Unobserved(), []Effect{Removed}},
		"silence, and no refresh has seen it":          {goes, NodesHealth{}, []Effect{Removed}},
		"no refresh since it was added":                {goes, unseen, []Effect{Removed}},
		"silence, and an earlier apply dropped it":     {stays, dropped.Unobserved(), []Effect{Removed}},
	} {
		var got []Effect
		for _, e := range c.plan.Effects(1, nodes, c.health) {
			got = append(got, e.Effect)
			unseen := len(c.health.Members) < len(nodes) // then the ID is not known
			if e.Cluster != 1 || (e.ID == 0) != unseen || e.Name == "" || e.Object != 0 || !e.Votes {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A voter whose node an apply has dropped stays known as such, until it is of a node again.
func TestSince(t *testing.T) {
	was := NodesHealth{Members: []NodeHealth{
		{Node: "n1", Name: "a", Member: 1, Voter: true}, {Name: "b", Member: 2, Voter: true, Dropped: true},
		{Name: "x", Member: 9, Voter: true},
	}}
	now := NodesHealth{Members: []NodeHealth{
		{Name: "a", Member: 1, Voter: true}, {Name: "b", Member: 2, Voter: true},
		{Name: "x", Member: 9, Voter: true}, {Name: "l", Member: 3},
	}}
	for i, want := range []bool{true, true, false, false} {
		if got := now.Since(was).Members[i].Dropped; got != want {
			t.Errorf("member %d: %t", i, got)
		}
	}
	now.Members[1].Node = "n2"
	if now.Since(was).Members[1].Dropped || now.Members[0].Dropped {
		t.Error("a member of a node is dropped, or the health before it was changed")
	}
}

// Members of one cluster on one machine know each other by their peer URLs.
func TestOccupants(t *testing.T) {
	a := Occupant{"a", []string{urlOf(1)}, []string{urlOf(2)}}
	b := Occupant{"b", []string{urlOf(2)}, nil}
	other := Occupant{"c", []string{urlOf(7)}, []string{urlOf(8)}}
	for _, c := range []struct {
		of   Occupant
		all  []Occupant
		want []string
	}{
		{a, []Occupant{a}, nil}, {a, []Occupant{a, other}, nil},
		{a, []Occupant{b, other, a}, []string{"a", "b"}}, {b, []Occupant{a, b}, []string{"a", "b"}},
	} {
		if got := c.of.Beside(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s beside %v: %v", c.of.Name, c.all, got)
		}
	}
}
