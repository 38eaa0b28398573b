// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package scenario reads the scenarios of the tests: what happens to a cluster step by step, and
// what is expected of it. README.md explains the language by examples, and has all its steps.
// Package simulated runs scenarios in the simulated world, package acctest on real processes.
package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// Scenario is a scenario of a file.
type Scenario struct {
	Name string
	// Seed is that of the order of events, and of all that is random, in the simulated world.
	Seed uint64
	// Judged says that every request is judged by what must never happen. Then a command may fail,
	// and a step that does not fit the moment does nothing.
	Judged bool
	Steps  []string
	// Parts are steps that the scenarios of the file share, by the names with which they include them.
	Parts map[string][]string
}

// Read returns the scenarios of a file. A scenario begins with a line "== NAME", a part with
// "-- NAME". A line after # is a comment, and so is what stands before the first scenario.
func Read(tb testing.TB, path string) (out []Scenario) {
	tb.Helper()
	parts, part := map[string][]string{}, ""
	for line := range strings.Lines(must.Read(tb, path)) {
		line = strings.TrimSpace(line)
		name, begins := strings.CutPrefix(line, "== ")
		shared, beginsPart := strings.CutPrefix(line, "-- ")
		switch last := len(out) - 1; {
		case line == "" || line[0] == '#':
		case begins:
			out, part = append(out, Scenario{Name: name, Seed: 1, Parts: parts}), ""
		case beginsPart:
			part = shared
		case part != "":
			parts[part] = append(parts[part], line)
		case last < 0:
		case line == "judged":
			out[last].Judged = true
		case strings.HasPrefix(line, "seed "):
			if _, err := fmt.Sscanf(line, "seed %d", &out[last].Seed); err != nil {
				tb.Fatalf("%s: %q: %v", path, line, err)
			}
		default:
			out[last].Steps = append(out[last].Steps, line)
		}
	}
	return out
}

// String returns the scenario as in a file.
func (s Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s\nseed %d\n", s.Name, s.Seed)
	if s.Judged {
		b.WriteString("judged\n")
	}
	for _, step := range s.Steps {
		b.WriteString(step + "\n")
	}
	return b.String()
}

// Address returns a word of a step in which an address is whole that may be short: machine[a] is the
// instance of that key in the block of the machines.
func Address(word, machines string) string {
	for short, block := range map[string]string{
		"machine[": machines, "member[": "etcd_member.node", "learner[": "etcd_learner.node",
	} {
		if before, name, is := strings.Cut(word, short); is {
			return before + block + `["` + strings.TrimSuffix(name, "]") + `"]`
		}
	}
	if before, is := strings.CutSuffix(word, "cluster"); is && (before == "" || strings.HasSuffix(before, "=")) {
		return before + "etcd_cluster.this"
	}
	return word
}

// Divide divides a step into what is done and what comes of it, with the sign before that: the
// words of an error after " => ", or the actions and all that is said after " == ".
func Divide(step string) (does, want string) {
	for _, sign := range []string{" => ", " == "} {
		if before, after, is := strings.Cut(" "+step+" ", sign); is {
			return strings.TrimSpace(before), sign + strings.TrimSpace(after)
		}
	}
	return step, ""
}

// Outcome is what comes of a command.
type Outcome struct {
	// Errors are the summaries of the errors, each once: which resource reports what follows from
	// two depends on their order.
	Errors []string
	// Members are the members after the command, see [Members]. Of a destroy they are "", because
	// which voter is the last one depends on the order.
	Members string
}

// Steps returns the command with what came of it, and the step that expects the members.
func (o Outcome) Steps(command string) []string {
	slices.Sort(o.Errors)
	if len(o.Errors) > 0 {
		command += " => " + strings.Join(slices.Compact(o.Errors), " & ")
	}
	if o.Members == "" {
		return []string{command}
	}
	return []string{command, "members " + o.Members}
}

// Members returns the names of members, sorted, with a + at those that were not there before and
// learners in brackets.
func Members(before, after []*etcdserverpb.Member) string {
	var names []string
	for _, m := range after {
		name := cmp.Or(m.Name, "?")
		if !slices.ContainsFunc(before, func(o *etcdserverpb.Member) bool { return o.ID == m.ID }) {
			name = "+" + name
		}
		if m.IsLearner {
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.Trim(a, "(+)"), strings.Trim(b, "(+)")) })
	return cmp.Or(strings.Join(names, " "), "none")
}
