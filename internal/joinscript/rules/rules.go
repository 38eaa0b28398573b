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
	Force    Decision = "start with data as the only member"
	Found    Decision = "start new"
	Join     Decision = "start existing"
	SetAside Decision = "set old data aside and start existing"
)

// Member is a member in a list. It has started if it has client URLs. Name is "" until
// it has published one.
type Member struct {
	ID               uint64
	Name, PeerURL    string
	Learner, Started bool
}

// Answer is what a peer answers: the member ID is that of the server itself. Without
// members it accepts a connection and does not answer.
type Answer struct {
	Cluster, ID uint64
	Members     []Member
}

// Machine is what a machine knows in a round.
type Machine struct {
	// Node is its name, PeerURL is its own, Peers are those of others in its environment.
	Node, PeerURL string
	Peers         []string
	// ConfigFile is true with ETCD_CONFIG_FILE, Force with ETCD_FORCE_NEW_CLUSTER.
	ConfigFile, Force bool
	// Initial is true with ETCD_INITIAL_CLUSTER_STATE=new, Window as long as it may
	// form its cluster without an answer.
	Initial, Window bool
	// Data is the member ID in its data, 0 without data, and Cluster the ID of that
	// cluster. Forced tells that the data has been started with Force, Mark that its
	// member has been started on this machine.
	Data, Cluster uint64
	Forced, Mark  bool
	// Answers are those of the peers, of others that these and the data name, and, to
	// a machine with data, at its own peer URL. Nobody listens where there is none.
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
	force := m.Force && !m.Forced // it is a request for one start
	switch {
	case m.ConfigFile:
		return Never, "" // P1: etcd ignores the environment
	case force && (m.Data == 0 || m.besideVoter()):
		return Wait, "" // P1
	case m.Data != 0 && fresh && me.Learner && !m.ours():
		return SetAside, "" // C9, A6
	case m.Data != 0 && (m.runs() || m.listed() && !m.ours() && (me != nil || m.otherName())):
		return Wait, "" // A6
	case m.Data != 0 && view != nil && view.Cluster == m.Cluster && !m.listed():
		return Wait, "" // removed
	case force:
		if basis = "forced"; m.Before != basis {
			return Wait, basis
		}
		return Force, basis
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

// besideVoter reports whether a peer may be another voter. A list of another cluster
// counts from peers of the environment: an address may have been given to others since.
func (m Machine) besideVoter() bool {
	for url, a := range m.Answers {
		learner := a.find(func(o Member) bool { return o.PeerURL == url && o.Learner }) != nil
		other := len(a.Members) > 0 && a.Cluster != m.Cluster && !slices.Contains(m.Peers, url)
		if url != m.PeerURL && !learner && !other {
			return true
		}
	}
	return false
}

// runs reports whether the member of the data runs, here or elsewhere.
func (m Machine) runs() bool {
	for _, a := range m.Answers {
		if a.ID == m.Data && a.Cluster == m.Cluster {
			return true
		}
	}
	return false
}

// listed reports whether any list has the member of the data.
func (m Machine) listed() bool {
	return m.lists(func(Member) bool { return true })
}

// ours reports whether any list has the member of the data at this machine's peer URL.
func (m Machine) ours() bool {
	return m.lists(func(o Member) bool { return o.PeerURL == m.PeerURL })
}

// otherName reports whether lists have the member of the data, and only with other names.
func (m Machine) otherName() bool {
	isNamed := func(o Member) bool { return o.Name != "" }
	isOurs := func(o Member) bool { return o.Name == m.Node }
	return m.lists(isNamed) && !m.lists(isOurs)
}

// lists reports whether any list has the member of the data like that.
func (m Machine) lists(is func(Member) bool) bool {
	for _, a := range m.Answers {
		if a.find(func(o Member) bool { return o.ID == m.Data && is(o) }) != nil {
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
			view = &Answer{Cluster: a.Cluster, Members: signature(a)}
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

// signature are the members by ID, without what they published: not all have heard of it.
func signature(a Answer) []Member {
	out := slices.Clone(a.Members)
	for i := range out {
		out[i].Started, out[i].Name = false, ""
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
