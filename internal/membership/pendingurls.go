// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// URLsPending: the others are members whose last change of peer URLs is not proven; see
// [URLChange.Judge]. In a promotion, it may be the subject itself.
const URLsPending Code = "peer URLs pending"

// URLChange is the record of a change of a member's peer URLs. The others keep their
// connections to the member when the list changes, so nothing shows whether they find it
// at the new URLs until its process restarts. Then it is too late: a quorum of members
// that nobody finds cannot change the list back.
type URLChange struct {
	ID       MemberID `json:"-"`
	PeerURLs []string `json:"peer_urls"`
	// Before are the URLs at which the process listened when it was started, as far as is
	// known; nil if it was restarted after a change that was never proven.
	Before []string `json:"before,omitempty"`
	// Start is the start time that the member reported before the change, "" if it
	// reported none. It is compared with what the same member reports, for equality only.
	Start string `json:"start,omitempty"`
	// Since and By are for people: when the change was made, and who made it.
	Since time.Time `json:"since"`
	By    string    `json:"by"`
	// Revision is that of the record in the cluster, 0 if it is new. It tells the change
	// from a later one of the same member.
	Revision int64 `json:"-"`
}

// Statement is what an operator states to confirm the change, and nothing else: the ID of
// the member, and which of its changes.
func (c URLChange) Statement() string { return fmt.Sprintf("%s:%d", c.ID, c.Revision) }

// URLEvidence is what the members report of a change: the metrics of the member itself,
// and those of the other voters.
type URLEvidence struct {
	// Start is the start time of the member's process, "" if it is not known.
	Start string
	// Connected and NotSeen are other voters: those that report an active connection to the
	// member, and those whose metrics say nothing.
	Connected, NotSeen []MemberID
}

// URLState says how far a change of peer URLs has come.
type URLState uint8

// The states. The zero value is pending, so that a change that was never judged is.
const (
	// URLsNotSeen: the metrics that would tell cannot be read.
	URLsNotSeen URLState = iota
	// URLsNotRestarted: the process is that of before the change.
	URLsNotRestarted
	// URLsNotConnected: the process was restarted, and fewer than a majority of the other
	// voters have a connection to it.
	URLsNotConnected
	// URLsSettled: the change is over, or was never made.
	URLsSettled
)

// Judge returns the state of a change in a confirmed list. The order:
//
//  1. The member was removed, or there is no other voter: nothing is left to prove.
//  2. The list has the URLs from before, and the process is the same: it was changed back,
//     or a run was killed between the record and the change.
//  3. The start time of the process is not that in the record. One machine reports both,
//     so no two clocks are compared; a step of its clock looks like a restart, hence 4.
//  4. The member answers, and a majority of the other voters has an active connection to
//     it. All of these are later than the restart, and so than the change of the list.
func (c URLChange) Judge(s Snapshot, e URLEvidence) URLState {
	m, listed := s.Member(c.ID)
	others := slices.DeleteFunc(s.Voters(), func(v Member) bool { return v.ID == c.ID })
	connected := len(in(IDs(others), e.Connected))
	same := e.Start == c.Start
	switch {
	case !listed || len(others) == 0:
		return URLsSettled
	case e.Start == "" || c.Start == "":
		return URLsNotSeen
	case same && SameURLs(m.PeerURLs, c.Before):
		return URLsSettled
	case same:
		return URLsNotRestarted
	case s.Alive(c.ID) && connected >= Quorum(len(others)):
		return URLsSettled
	case connected+len(in(IDs(others), e.NotSeen)) >= Quorum(len(others)):
		return URLsNotSeen
	}
	return URLsNotConnected
}

// Next returns the record of another change of the same member, whose process has the
// given start time now. Its process listens where it did before the last change only if it
// is the same process.
func (c URLChange) Next(peerURLs []string, start string) URLChange {
	next := URLChange{ID: c.ID, PeerURLs: peerURLs, Start: start}
	if start != "" && start == c.Start {
		next.Before = c.Before
	}
	return next
}

// Pending is a change of peer URLs that is not over.
type Pending struct {
	URLChange
	State URLState
}

// isPending reports whether the last change of the member's peer URLs is not proven. A
// restart may cut such a member off, so no change may rely on it: see [Snapshot.conditionOf].
func (s Snapshot) isPending(id MemberID) bool {
	_, is := s.Pending[id]
	return is
}

// goesBack reports whether the change of URLs undoes one that is not proven.
func (s Snapshot) goesBack(id MemberID, peerURLs []string) bool {
	p, is := s.Pending[id]
	return is && len(p.Before) > 0 && SameURLs(p.Before, peerURLs)
}

// oneAtATime refuses other peer URLs of a member while those of another one are pending. A
// change back passes: it leads to what worked.
func (s Snapshot) oneAtATime(id MemberID, peerURLs []string) Decision {
	others := keep(union(slices.Collect(maps.Keys(s.Pending))), func(other MemberID) bool { return other != id })
	if len(others) == 0 || s.goesBack(id, peerURLs) {
		return Decision{Verdict: Go}
	}
	return refuse(URLsPending, Facts{Subject: id, Others: others})
}
