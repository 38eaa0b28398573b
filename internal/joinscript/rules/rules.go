// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package rules states how the join script decides whether the member of a machine may
// start: for the machines of simulated clusters, and as a second statement of the
// script. It knows static initial members and those that join, and no registries.
package rules

import (
	"cmp"
	"fmt"
	"slices"
)

// Decision is what a machine does.
type Decision string

// The decisions. SetAside renames the old data, and then is Join.
const (
	Wait     Decision = "wait"
	Never    Decision = "never"
	Resume   Decision = "start with data"
	Found    Decision = "start new"
	Join     Decision = "start existing"
	SetAside Decision = "set old data aside and start existing"
)

// Member is a member in a list. It has started if it has client URLs.
type Member struct {
	ID               uint64
	PeerURL          string
	Learner, Started bool
}

// Answer is what a peer answers. Without members it accepts a connection and does not
// answer.
type Answer struct {
	Cluster uint64
	Members []Member
}

// Machine is what a machine knows in a round.
type Machine struct {
	// PeerURL is its own, Peers are those of others in its environment.
	PeerURL string
	Peers   []string
	// Initial is true with ETCD_INITIAL_CLUSTER_STATE=new, Window as long as it may
	// form its cluster without an answer.
	Initial, Window bool
	// Data is the member ID in its data, 0 without data. Mark tells that its
	// member has been started on this machine.
	Data uint64
	Mark bool
	// Answers are those of the peers, and of others that these name, by URL.
	// Nobody listens where there is none.
	Answers map[string]Answer
	// Before is the basis of the round before.
	Before string
}

// Decide returns what a machine does, and the basis, which must be the same in two
// rounds for what a moment may mislead to.
func (m Machine) Decide() (d Decision, basis string) {
	view, split := m.view()
	me := view.find(func(o Member) bool { return o.PeerURL == m.PeerURL })
	fresh := me != nil && !me.Started
	switch {
	case m.Data != 0 && view != nil && !m.listed(m.Data):
		if fresh && me.Learner {
			return SetAside, "" // C9
		}
		return Wait, "" // removed
	case m.Data != 0:
		return Resume, ""
	case view != nil && fresh && me.Learner:
		return Join, "" // C5: it has never voted
	case view != nil && fresh:
		basis, d = fmt.Sprint("voter", signature(*view)), Join
		if m.Mark || !m.unanimous(*view) {
			return Wait, basis // C5
		}
	case split:
		return Wait, ""
	case view == nil && m.Initial && m.forming():
		basis, d = "forming", Found
	case view == nil && m.Initial && len(m.Answers) == 0:
		if basis, d = "silent", Found; !m.Window || m.Mark {
			if len(m.Peers) == 0 {
				return Never, basis
			}
			return Wait, basis // C11
		}
	default:
		return Wait, "" // C8
	}
	if m.Mark || m.Before != basis {
		d = Wait
	}
	return d, basis
}

func (a *Answer) find(is func(Member) bool) *Member {
	if a == nil {
		return nil
	}
	if i := slices.IndexFunc(a.Members, is); i >= 0 {
		return &a.Members[i]
	}
	return nil
}

// others are the voters other than this machine's member.
func (m Machine) others(a Answer) (out []Member) {
	for _, o := range a.Members {
		if !o.Learner && o.PeerURL != m.PeerURL {
			out = append(out, o)
		}
	}
	return out
}

// listed reports whether any list has a member.
func (m Machine) listed(id uint64) bool {
	for _, a := range m.Answers {
		if a.find(func(o Member) bool { return o.ID == id }) != nil {
			return true
		}
	}
	return false
}

// view is the list that a majority of the other voters on it gives: of those in the
// environment alone, or of all if a majority of the environment gives it (C7). It is nil
// if there is none, or if nobody has started, or if the peers are split: they are of
// several clusters, or there are two such lists.
func (m Machine) view() (view *Answer, split bool) {
	var cluster uint64
	started := map[uint64]bool{} // on any list
	for _, a := range m.Answers {
		for _, o := range a.Members {
			if o.Started {
				started[o.ID] = true
			}
		}
		if len(a.Members) > 0 {
			if cluster != 0 && a.Cluster != cluster {
				return nil, true
			}
			cluster = a.Cluster
		}
	}
	for _, a := range m.Answers {
		learns := func(url string) bool {
			return a.find(func(o Member) bool { return o.PeerURL == url && o.Learner }) != nil
		}
		others, told, all, peers, agree := m.others(a), 0, 0, 0, 0
		for _, o := range others {
			if m.says(o.PeerURL, a) {
				all++
				told += one(slices.Contains(m.Peers, o.PeerURL))
			}
		}
		for _, url := range m.Peers {
			if !learns(url) {
				peers++
				agree += one(m.says(url, a))
			}
		}
		if 2*told > len(others) || 2*agree > peers && 2*all > len(others) {
			if view != nil && !equal(*view, a) {
				return nil, true
			}
			view = &Answer{a.Cluster, signature(a)}
		}
	}
	if view == nil || len(started) == 0 {
		return nil, false
	}
	for i := range view.Members {
		view.Members[i].Started = started[view.Members[i].ID]
	}
	return view, false
}

// unanimous reports whether every other voter on a list gives it.
func (m Machine) unanimous(a Answer) bool {
	return !slices.ContainsFunc(m.others(a), func(o Member) bool { return !m.says(o.PeerURL, a) })
}

// forming reports whether there are lists, nobody on them has started, and a peer of the
// environment lists this machine's member.
func (m Machine) forming() (listed bool) {
	for url, a := range m.Answers {
		if a.find(func(o Member) bool { return o.Started }) != nil {
			return false
		}
		me := a.find(func(o Member) bool { return o.PeerURL == m.PeerURL })
		listed = listed || me != nil && slices.Contains(m.Peers, url)
	}
	return listed
}

func (m Machine) says(url string, a Answer) bool {
	b, ok := m.Answers[url]
	return ok && equal(a, b)
}

// equal reports whether two lists have the same members.
func equal(a, b Answer) bool {
	return a.Cluster == b.Cluster && slices.Equal(signature(a), signature(b))
}

// signature are the members by ID, without who has started: not all have heard of it.
func signature(a Answer) []Member {
	out := slices.Clone(a.Members)
	for i := range out {
		out[i].Started = false
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
