// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package model is a model of the commands that users type, on an abstract cluster
// of three members. The tests visit every state that a few commands can reach and
// check a few conditions in each of them. The package contains only tests. What an
// apply does, call by call, is tested in package simulated.
package model

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const (
	clusterID = membership.ClusterID(0xc1)
	term      = 2
	leadIndex = 100_000
)

// idOf returns the ID of the member after the gen-th addition of the node's URL.
func idOf(n, gen uint8) membership.MemberID {
	return membership.MemberID(uint64(n+1)<<8 | uint64(gen))
}

func urlOf(n uint8) string  { return "http://10.0.0." + string(rune('1'+n)) + ":2380" }
func nameOf(n uint8) string { return "m" + string(rune('1'+n)) }

// seen returns an observation of the cluster. The last member that is alive leads.
func (w typed) seen() membership.Snapshot {
	led := w.quorum()
	snap := membership.Snapshot{ClusterID: clusterID, Linearizable: led, Answers: map[membership.MemberID]membership.Answer{}}
	var leader membership.MemberID
	for i, p := range w.places {
		if p.listed && p.alive {
			leader = idOf(uint8(i), p.member)
		}
	}
	for i, p := range w.places {
		if !p.listed {
			continue
		}
		at := uint8(i)
		id := idOf(at, p.member)
		snap.Members = append(snap.Members, membership.Member{
			ID: id, Name: nameOf(at), PeerURLs: []string{urlOf(at)}, ClientURLs: []string{"http://10.0.0." + string(rune('1'+at)) + ":2379"},
		})
		snap.Answers[id] = membership.Answer{State: membership.Silent, Detail: "connection refused"}
		if p.alive {
			snap.Answers[id] = membership.Answer{
				State: membership.Answered, MemberID: id, ClusterID: clusterID, Term: term, Leader: leader,
				Index: leadIndex, Applied: leadIndex, ReadOK: led, Version: "3.7.3",
			}
		}
	}
	return snap
}

// instead ignores some reasons that prevent a change.
func instead(d membership.Decision, codes ...membership.Code) membership.Decision {
	if slices.Contains(codes, d.Code) {
		return membership.Decision{Verdict: membership.Go}
	}
	return d
}
