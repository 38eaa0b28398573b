// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// sequence is a list of commands and events for a cluster that has just formed.
// It is a pure value: it can be generated again from its seed, run again, made
// shorter, and kept as a test.
type sequence struct {
	world
	steps []deed
}

// world is the cluster at the beginning of a sequence.
type world struct {
	layout  layout
	size    int
	version etcdtest.Version
}

// deed is one command or one event. It is valid in every state that earlier
// steps may have left, so that each of them can be omitted: nodes are
// identified by position, not by name.
type deed struct {
	// kind is one of the names in kinds.
	kind string
	// who is the position of the node, modulo their number; also is the
	// distance to a second node, or 0 for none.
	who, also int
	// part is one of parts, if the kind is about one resource.
	part string
	// ms is the time in milliseconds before the step is interrupted.
	ms int
}

// bootstrapPart is the resource that all nodes share.
const bootstrapPart = "etcd_initial_cluster"

// parts are the resources that a command can name.
var parts = []string{"etcd_member_config", "terraform_data.machine", "etcd_member", bootstrapPart}

// kind is a kind of step.
type kind struct {
	name   string
	weight int
	// parts are the possible parts, or nil for none.
	parts []string
	// pair: it may have a second node.
	pair bool
	// waits: it is interrupted after some time.
	waits bool
	run   func(a *actor, s deed) bool
}

// kinds returns all kinds. run reports whether there was anything to do: not
// every step is possible in every state.
func kinds() []kind { return append(append(editKinds(), commandKinds()...), eventKinds()...) }

func kindOf(name string) kind {
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	panic("there is no step of kind " + name)
}

// longestSequence is the maximum number of steps.
const longestSequence = 7

// newSequence generates the n-th sequence of a seed: usually an edit or an
// event, followed by a command.
func newSequence(seed uint64, n int) sequence {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	s := sequence{world: world{
		layout:  []layout{flat, flat, counted, moduleEach}[rng.IntN(4)],
		size:    []int{3, 3, 3, 5}[rng.IntN(4)],
		version: []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}[rng.IntN(3)],
	}}
	length := 2 + rng.IntN(longestSequence-1)
	for len(s.steps) < length {
		switch at := rng.IntN(10); {
		case at < 5:
			s.steps = append(s.steps, draw(rng, editKinds()))
		case at < 7:
			s.steps = append(s.steps, draw(rng, eventKinds()))
		}
		next := draw(rng, commandKinds())
		s.steps = append(s.steps, next)
		if next.kind == savesPlan {
			s.steps = append(s.steps, draw(rng, commandKinds()), deed{kind: appliesPlan})
		}
	}
	s.steps = s.steps[:min(len(s.steps), longestSequence)]
	return s
}

// draw generates a step of one of these kinds.
func draw(rng *rand.Rand, from []kind) deed {
	sum := 0
	for _, k := range from {
		sum += k.weight
	}
	at := rng.IntN(sum)
	for _, k := range from {
		if at -= k.weight; at < 0 {
			return k.step(rng)
		}
	}
	panic("no kind has a weight")
}

func (k kind) step(rng *rand.Rand) deed {
	s := deed{kind: k.name, who: rng.IntN(5)}
	if k.parts != nil {
		s.part = k.parts[rng.IntN(len(k.parts))]
	}
	if k.pair {
		s.also = rng.IntN(3)
	}
	if k.waits {
		s.ms = 100 + rng.IntN(6000)
	}
	return s
}

// String formats a sequence as an element of a table of sequences.
func (s sequence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{world{%q, %d, %q}, []deed{\n", s.layout, s.size, s.version)
	for _, step := range s.steps {
		b.WriteString("\t" + step.String() + ",\n")
	}
	return b.String() + "}},"
}

func (s deed) String() string {
	text := fmt.Sprintf("{kind: %q", s.kind)
	for _, field := range []struct {
		name  string
		value int
	}{{"who", s.who}, {"also", s.also}, {"ms", s.ms}} {
		if field.value != 0 {
			text += fmt.Sprintf(", %s: %d", field.name, field.value)
		}
	}
	if s.part != "" {
		text += fmt.Sprintf(", part: %q", s.part)
	}
	return text + "}"
}

// The same seed generates the same sequences, another seed generates others,
// and each kind occurs.
func TestCommandSequences(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		out := ""
		for n := range 200 {
			s := newSequence(seed, n)
			if len(s.steps) < 2 || len(s.steps) > longestSequence {
				t.Fatalf("%d steps:\n%s", len(s.steps), s)
			}
			out += s.String() + "\n"
		}
		return out
	}
	first := text(1)
	if again := text(1); again != first {
		t.Error("the same seed made other sequences")
	}
	if text(2) == first {
		t.Error("another seed made the same sequences")
	}
	seen := map[string]bool{}
	for _, k := range kinds() {
		if seen[k.name] {
			t.Errorf("two kinds are %q", k.name)
		}
		seen[k.name] = true
		if !strings.Contains(first, fmt.Sprintf("{kind: %q", k.name)) {
			t.Errorf("200 sequences without %q", k.name)
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d kinds", len(seen))
	}
	want := "{world{\"flat\", 3, \"3.6\"}, []deed{\n\t{kind: \"kill\", who: 1, ms: 7, part: \"etcd_member\"},\n\t{kind: \"add\"},\n}},"
	s := sequence{world{flat, 3, etcdtest.V36}, []deed{{kind: "kill", who: 1, part: "etcd_member", ms: 7}, {kind: "add"}}}
	if got := s.String(); got != want {
		t.Errorf("a sequence is printed as\n%s\nwant\n%s", got, want)
	}
}
