// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// soakRound is a change to a fleet, with the faults during the change. The
// rounds of a soak depend only on its seed.
type soakRound struct {
	number int
	// change is grow, shrink, swap (both at once), replace, rollout, lose, or
	// rest: a plain apply without changes.
	change string
	// in are the names of the new nodes, out those of the removed ones, lost is
	// the one whose machine is lost, or which is replaced on request.
	in, out []string
	lost    string
	faults  []soakFault
}

// soakFault is a fault that lasts for a while and starts some time after the
// change.
type soakFault struct {
	// kind is one of memberFaults, which use who, or of runFaults.
	kind  string
	who   string
	after time.Duration
	lasts time.Duration
}

// memberFaults affect one member: its process, or its network. cut drops all
// data in both directions, cut in drops the data that others send to it and the
// answers to its own requests, cut out drops the rest.
var memberFaults = []string{"kill", "freeze", "cut", "cut in", "cut out", "delay", "reset"}

// runFaults affect the run of the CLI.
var runFaults = []string{"kill the CLI", "kill the provider", "freeze the provider", "interrupt"}

const (
	soakSmallest = 3
	soakLargest  = 5
)

// soakScript generates one round after another.
type soakScript struct {
	rng   *rand.Rand
	names []string
	round int
	fresh int
}

func newSoakScript(seed uint64, founders []string) *soakScript {
	return &soakScript{rng: rand.New(rand.NewPCG(seed, 0)), names: slices.Sorted(slices.Values(founders))}
}

// next returns the next round and assumes that its change succeeds.
func (s *soakScript) next() soakRound {
	s.round++
	r := soakRound{number: s.round}
	changes := []string{"replace", "rollout", "lose", "rest"}
	for range 2 { // twice as likely as each of the others
		if len(s.names) < soakLargest {
			changes = append(changes, "grow")
		}
		if len(s.names) > soakSmallest {
			changes = append(changes, "shrink", "swap")
		}
	}
	r.change = s.pick(changes)
	switch r.change {
	case "grow":
		r.in = s.invent(1 + s.rng.IntN(soakLargest-len(s.names)))
	case "shrink":
		r.out = s.leave(1 + s.rng.IntN(len(s.names)-soakSmallest))
	case "swap":
		r.in, r.out = s.invent(1), s.leave(1)
	case "replace", "lose":
		r.lost = s.pick(s.names)
	}
	stay := slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		return slices.Contains(r.out, name) || name == r.lost
	})
	// Disturb only one member at a time, so that the faults never take the
	// quorum from a cluster that tolerates one failure.
	if s.rng.IntN(3) > 0 {
		r.faults = append(r.faults, s.fault(memberFaults, s.pick(stay)))
	}
	if s.rng.IntN(3) == 0 {
		r.faults = append(r.faults, s.fault(runFaults, ""))
	}
	s.names = slices.DeleteFunc(append(s.names, r.in...), func(name string) bool { return slices.Contains(r.out, name) })
	slices.Sort(s.names)
	return r
}

func (s *soakScript) fault(kinds []string, who string) soakFault {
	return soakFault{
		kind: s.pick(kinds), who: who,
		after: time.Duration(s.rng.IntN(6000)) * time.Millisecond,
		lasts: time.Duration(200+s.rng.IntN(5800)) * time.Millisecond,
	}
}

func (s *soakScript) pick(from []string) string { return from[s.rng.IntN(len(from))] }

// invent returns names that were not used before.
func (s *soakScript) invent(n int) []string {
	var out []string
	for range n {
		s.fresh++
		out = append(out, fmt.Sprintf("n%03d", s.fresh))
	}
	return out
}

func (s *soakScript) leave(n int) []string {
	out := slices.Clone(s.names)
	s.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}

// String formats the round in one line.
func (r soakRound) String() string {
	words := []string{fmt.Sprintf("round %d: %s", r.number, r.change)}
	if len(r.in) > 0 {
		words = append(words, "in "+strings.Join(r.in, " "))
	}
	if len(r.out) > 0 {
		words = append(words, "out "+strings.Join(r.out, " "))
	}
	if r.lost != "" {
		words = append(words, r.lost)
	}
	for _, f := range r.faults {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s", f.kind, f.who))+fmt.Sprintf(" after %v for %v", f.after, f.lasts))
	}
	return strings.Join(words, ", ")
}

// The same seed generates the same rounds, and another seed generates others.
// Every round leaves a cluster that tolerates a failure, and nodes that join or
// leave have no faults of their own.
func TestSoakScript(t *testing.T) {
	founders := []string{"a", "b", "c"}
	text := func(seed uint64) string {
		s, out := newSoakScript(seed, founders), ""
		for range 200 {
			before := slices.Clone(s.names)
			r := s.next()
			out += r.String() + "\n"
			if len(s.names) < soakSmallest || len(s.names) > soakLargest || !slices.IsSorted(s.names) {
				t.Fatalf("%v leaves %v", r, s.names)
			}
			for _, f := range r.faults {
				if slices.Contains(runFaults, f.kind) != (f.who == "") {
					t.Fatalf("%v: %+v", r, f)
				}
				if f.who != "" && (!slices.Contains(before, f.who) || !slices.Contains(s.names, f.who) || f.who == r.lost) {
					t.Fatalf("%v: %s does not stay", r, f.who)
				}
			}
		}
		return out
	}
	first := text(1)
	if again := text(1); again != first {
		t.Error("the same seed made other rounds")
	}
	if text(2) == first {
		t.Error("another seed made the same rounds")
	}
	for _, kind := range slices.Concat(memberFaults, runFaults, []string{"grow", "shrink", "swap", "replace", "rollout", "lose", "rest"}) {
		if !strings.Contains(first, " "+kind) {
			t.Errorf("200 rounds without %s", kind)
		}
	}
}
