// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package rules

import (
	_ "embed"
	"strings"
)

//go:embed starts.txt
var starts string

// Start is a case of starts.txt, which says what its parts mean. The URL of a member is
// its letter, and its ID follows from its letter and its digit.
type Start struct {
	Name string
	Machine
	Want Decision
	// Words are in the standard error of the script.
	Words string
	// Line is the case as it is written.
	Line string
}

// Starts are the cases in which a machine starts etcd, or does not.
func Starts() (all []Start) {
	for line := range strings.Lines(starts) {
		if strings.Contains(line, "|") && line[0] != '#' {
			all = append(all, Parse(line))
		}
	}
	return all
}

// Parse reads a case. What is not given is empty.
func Parse(line string) Start {
	parts := append(strings.Split(line, "|"), "", "", "", "")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	s := Start{Name: parts[0], Want: Decision(parts[3]), Words: parts[4], Line: line}
	s.Node, s.PeerURL, s.Peers, s.Answers = "c", "c", []string{"a", "b"}, map[string]Answer{}
	is, peers, given := strings.Cut(parts[1], "peers=")
	if given {
		s.Peers = strings.Fields(peers)
	}
	for _, word := range strings.Fields(is) {
		switch word {
		case "initial":
			s.Initial = true
		case "window":
			s.Window = true
		case "mark":
			s.Mark = true
		case "data":
			s.Data, s.Cluster = 'c', 1
		case "copy":
			s.Data, s.Cluster = 'a', 1
		case "renamed":
			s.Node = "z"
		case "force":
			s.Force = true
		case "forced":
			s.Force, s.Forced = true, true
		case "file":
			s.ConfigFile = true
		}
	}
	for answer := range strings.SplitSeq(parts[2], ";") {
		if url, members, ok := strings.Cut(strings.TrimSpace(answer), ": "); ok {
			a := list(members)
			if m := a.find(func(m Member) bool { return m.PeerURL == url }); m != nil && a.ID == 0 {
				a.ID = m.ID
			}
			s.Answers[url] = a
		}
	}
	return s
}

// list reads a list of members, none for "-". It is of the cluster 1, or with "@2" of
// another one. With "@c" its server is that member.
func list(text string) (a Answer) {
	for _, word := range strings.Fields(strings.TrimPrefix(text, "-")) {
		switch {
		case word == "@2":
			a.Cluster++
			continue
		case word[0] == '@':
			a.ID = uint64(word[1])
			continue
		}
		name, url, moved := strings.Cut(strings.Trim(word, "()!"), "=")
		id := uint64(name[0])
		if len(name) > 1 {
			id = id<<8 | uint64(name[1])
		}
		m := Member{ID: id, PeerURL: name[:1], Learner: word[0] == '(', Started: strings.Contains(word, "!")}
		if moved {
			m.PeerURL = url
		}
		if m.Started {
			m.Name = name[:1]
		}
		a.Cluster = max(a.Cluster, 1)
		a.Members = append(a.Members, m)
	}
	return a
}
