// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package rules

import (
	"slices"
	"strings"
	"testing"
)

// list reads a list of members: "a b! (c!) d2": ! has started, () is a learner, and a
// digit tells apart members at one URL.
func list(cluster uint64, text string) (a Answer) {
	for _, word := range strings.Fields(text) {
		name := strings.Trim(word, "()!")
		id := uint64(name[0])
		if len(name) > 1 {
			id = id<<8 | uint64(name[1])
		}
		a.Cluster, a.Members = cluster, append(a.Members, Member{ID: id, PeerURL: name[:1], Learner: word[0] == '(', Started: strings.Contains(word, "!")})
	}
	return a
}

// The machine is that of c, and its peers are a and b, unless a case says otherwise.
// answers is "PEER: LIST; ..."; "-" is one that does not answer.
func TestDecide(t *testing.T) {
	window := Machine{Initial: true, Window: true}
	again := func(m Machine, basis string) Machine { m.Before = basis; return m }
	for _, c := range []struct {
		name, answers string
		m             Machine
		want          Decision
	}{
		{"a learner that never started", "a: a! b! (c); b: a! b! (c)", Machine{}, Join},
		{"one of three says so", "a: a! b! d! (c)", Machine{}, Wait},
		{"its mark does not matter", "a: a! b! (c); b: a! b! (c)", Machine{Mark: true}, Join},
		{"one that is not listed", "a: a! b!; b: a! b!", Machine{}, Wait},
		{"one that has run (C8)", "a: a! b! c!; b: a! b! c!", Machine{}, Wait},
		{"a learner that has run", "a: a! b! (c!); b: a! b! (c!)", Machine{}, Wait},
		{"only one has heard that it has run", "a: a! b! (c); b: a! b! (c!)", Machine{}, Wait},
		{"peers disagree", "a: a! b! (c); b: a! b! c", Machine{}, Wait},
		{"a voter that never started, first round", "a: a! b! c; b: a! b! c", Machine{Initial: true}, Wait},
		{"the second round", "a: a! b! c; b: a! b! c", Machine{Initial: true, Before: "again"}, Join},
		{"a voter is silent (C5)", "a: a! b! c d!; b: a! b! c d!", Machine{Before: "again"}, Wait},
		{"it was started here (C5)", "a: a! b! c; b: a! b! c", Machine{Mark: true, Before: "again"}, Wait},
		{"a majority that its environment does not know (C7)", "a: a! b! d! e! f! (c); b: a! b! d! e! f! (c)", Machine{}, Wait},
		{"it names the others", "a: a! b! d! e! f! (c); b: a! b! d! e! f! (c); d: a! b! d! e! f! (c)", Machine{}, Join},
		{"two that nobody named", "d: d! e! (c); e: d! e! (c)", Machine{}, Wait},

		{"data, and silence", "", Machine{Data: 'c'}, Resume},
		{"data, listed", "a: a! b! c!; b: a! b! c!", Machine{Data: 'c'}, Resume},
		{"data, a minority lacks it", "a: a! b! d!", Machine{Data: 'c'}, Resume},
		{"data of a removed member", "a: a! b!; b: a! b!", Machine{Data: 'c'}, Wait},
		{"and there is a new one (C9)", "a: a! b! (c2); b: a! b! (c2)", Machine{Data: 'c'}, SetAside},
		{"which has run", "a: a! b! (c2!); b: a! b! (c2!)", Machine{Data: 'c'}, Wait},

		{"silence in the window, first round", "", window, Wait},
		{"the second round", "", again(window, "silent"), Found},
		{"it was started here", "", Machine{Initial: true, Window: true, Mark: true, Before: "silent"}, Wait},
		{"not in the window (C11)", "", Machine{Initial: true, Before: "silent"}, Wait},
		{"a peer accepts connections", "a: -", again(window, "silent"), Wait},
		{"one that joins", "", Machine{Before: "silent"}, Wait},
		{"the others form", "a: a b c", Machine{Initial: true, Before: "forming"}, Found},
		{"without it", "a: a b d", Machine{Initial: true, Before: "forming"}, Wait},
		{"the only member, not in the window", "", Machine{Initial: true, Peers: []string{}}, Never},
	} {
		m := c.m
		if m.PeerURL = "c"; m.Peers == nil {
			m.Peers = []string{"a", "b"}
		}
		m.Answers = map[string]Answer{}
		for _, answer := range strings.Split(c.answers, "; ") {
			if url, members, ok := strings.Cut(answer, ": "); ok && members == "-" {
				m.Answers[url] = Answer{}
			} else if ok {
				m.Answers[url] = list(1, members)
			}
		}
		if m.Before == "again" {
			_, m.Before = m.Decide()
		}
		if got, _ := m.Decide(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Peers of two clusters prove nothing.
func TestClusters(t *testing.T) {
	m := Machine{PeerURL: "c", Peers: []string{"a", "b"}, Answers: map[string]Answer{"a": list(1, "a! (c)"), "b": list(2, "b! (c)")}}
	if d, _ := m.Decide(); d != Wait {
		t.Error(d)
	}
	m.Peers = slices.Clone(m.Peers[:1])
	delete(m.Answers, "b")
	if d, _ := m.Decide(); d != Join {
		t.Error(d)
	}
}
