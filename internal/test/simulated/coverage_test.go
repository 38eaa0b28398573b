// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// stateKinds are the commands of the search that change the state alone, and runKinds those that
// run the provider, which faults can meet. last are those that end a sequence.
var (
	stateKinds = []string{
		"forget member", "taint cluster", "taint machine", "taint member", "imports", "older", "promote",
	}
	runKinds = []string{
		"import", "plan", "refresh", "apply", "apply -replace=machine", "apply -replace=member",
		"apply -target=cluster", "apply -target=machine", "apply -target=member", "apply -refresh=false",
		"saved", "beside two", "in two apply", "beside clone", "destroy",
	}
	lastKinds = []string{"beside clone", "destroy"}
)

// faultKinds are the faults: the first words of what happens during a command, and of what happens
// between a plan and its apply.
var faultKinds = []string{
	"kill", "interrupt", "freeze", "lost answer", "off", "stuck", "split", "hidden", "other",
	"during silence", "during stranger", "during wrong-ca", "never-boots",
	"between lose", "between wipe", "between blank", "between etcdctl", "between stop", "between off", "between stuck",
	"between split", "between hidden", "between other", "between hear", "between start", "between wait",
}

// kindsOf are the kinds of the command in a step.
func kindsOf(step string) (out []string) {
	words := strings.Fields(step)
	kind := func(word string) string {
		word, _, _ = strings.Cut(word, "[")
		return word
	}
	switch verb := words[0]; verb {
	case "forget", "taint":
		return []string{verb + " " + kind(words[1])}
	case "etcdctl":
		return []string{strings.Join(words[1:3], " ")}
	case "in":
		return []string{step}
	case "apply", "saved", "beside":
		if verb == "beside" {
			verb += " " + words[1]
		}
		if verb != "apply" {
			out = append(out, verb)
		}
		for _, option := range words[1:] {
			if strings.HasPrefix(option, "-") {
				out = append(out, "apply "+kind(option))
			}
		}
		if len(out) == 0 {
			return []string{"apply"}
		}
		return out
	default:
		return []string{verb}
	}
}

// faultsPrepared are the kinds of the faults of the next command.
func (s *runner) faultsPrepared() (out []string) {
	f := &s.fault
	for _, what := range f.next {
		out = append(out, what[0])
	}
	for _, what := range f.between {
		out = append(out, "between "+what[0])
	}
	if f.lose > 0 {
		out = append(out, "lost answer")
	}
	if f.silence != "" {
		out = append(out, "during "+f.silence)
	}
	if len(s.fleet.broken) > 0 {
		out = append(out, "never-boots")
	}
	return out
}

// coverage counts pairs: a command and a fault during it, and a command and the next one.
type coverage struct {
	mu    sync.Mutex
	pairs map[string]int
	last  []string
}

func (c *coverage) add(kinds, faults []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pairs == nil {
		c.pairs = map[string]int{}
	}
	for _, kind := range kinds {
		if !slices.Contains(stateKinds, kind) && !slices.Contains(runKinds, kind) {
			return
		}
		for _, fault := range faults {
			c.pairs[kind+" & "+fault]++
		}
		for _, last := range c.last {
			c.pairs[last+", "+kind]++
		}
	}
	c.last = kinds
}

// join adds the counts of a scenario.
func (c *coverage) join(of *coverage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pairs == nil {
		c.pairs = map[string]int{}
	}
	for pair, n := range of.pairs {
		c.pairs[pair] += n
	}
}

// String is a line for each command, with the counts of its pairs, and then the pairs that did not
// come about.
func (c *coverage) String() string {
	var b strings.Builder
	var never []string
	all := slices.Concat(stateKinds, runKinds)
	for _, kind := range all {
		count := func(sign string, others []string) (n, reached int) {
			for _, other := range others {
				pair := kind + sign + other
				if c.pairs[pair] == 0 {
					never = append(never, pair)
					continue
				}
				n, reached = n+c.pairs[pair], reached+1
			}
			return n, reached
		}
		faults, next := "", ""
		if slices.Contains(runKinds, kind) {
			n, reached := count(" & ", faultKinds)
			faults = fmt.Sprintf("beside %d of %d faults, %d times", reached, len(faultKinds), n)
		}
		if !slices.Contains(lastKinds, kind) {
			n, reached := count(", ", all)
			next = fmt.Sprintf("before %d of %d commands, %d times", reached, len(all), n)
		}
		fmt.Fprintf(&b, "%-24s %-40s %s\n", kind, faults, next)
	}
	fmt.Fprintf(&b, "%d pairs did not come about: %s\n", len(never), strings.Join(never, "; "))
	for _, pair := range slices.Sorted(maps.Keys(c.pairs)) {
		if _, fault, is := strings.Cut(pair, " & "); is && !slices.Contains(faultKinds, fault) {
			fmt.Fprintf(&b, "%s is no known fault\n", fault)
		}
	}
	return b.String()
}
