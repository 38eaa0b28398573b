// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package membership decides about the members of an etcd cluster.
//
// Everything in it is a value or a pure function of values: no I/O, no clock, no
// log, nothing but the standard library. A [Snapshot] holds what the cluster
// answered; a [Decision] holds what may be done about it. A decision carries a
// code and facts but no prose: package text words it.
package membership

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Member is one entry of the cluster's member list.
type Member struct {
	ID MemberID
	// Name is empty until the member has published it. Initial members have a
	// name before they have run, so a name alone does not mean "started".
	Name string
	// PeerURLs and ClientURLs are as the cluster lists them.
	PeerURLs   []string
	ClientURLs []string
	// Learner is true for a member without a vote.
	Learner bool
}

// Started reports whether the member has ever published its attributes, as etcd
// defines it. It does not mean that the member is alive now.
func (m Member) Started() bool { return m.Name != "" && len(m.ClientURLs) > 0 }

// PlaceholderHost is the host of a placeholder: a learner that is added and removed again to
// learn whether the servers accept one more.
const PlaceholderHost = "learner-placeholder.invalid:2380"

// IsPlaceholder reports whether the member is a placeholder that an interrupted run has left.
// The next change removes it, so nothing waits for it.
func (m Member) IsPlaceholder() bool {
	return m.Learner && !m.Started() && len(m.PeerURLs) == 1 && strings.HasSuffix(m.PeerURLs[0], "://"+PlaceholderHost)
}

// AnswerState says what a direct request to a member returned.
type AnswerState uint8

const (
	// Unprobed means that no address of the member is known, or that another
	// member answered at every address that was tried (a load balancer). Nothing
	// is known about the member.
	Unprobed AnswerState = iota
	// Silent means that an address is known but did not answer in time.
	Silent
	// Answered means that the member itself answered: the answer has its ID.
	Answered
	// WrongCluster means that the process at the member's address answered
	// for another cluster.
	WrongCluster
)

// Answer is what a member answered when it was asked directly (the Status call,
// and for voters a linearizable read).
type Answer struct {
	State AnswerState
	// Endpoint is the URL that was asked, Detail is what came back instead of an
	// answer ("connection refused"). Both are for people.
	Endpoint string
	Detail   string

	// MemberID and ClusterID are those in the header of the answer.
	MemberID  MemberID
	ClusterID ClusterID
	// Leader and Term are the member's own view. Leader is 0 if it names none.
	Leader MemberID
	Term   uint64
	// Index is the member's raft index, Applied is its applied index, in entries.
	// Applied is 0 if the version does not report it (before 3.4).
	Index   uint64
	Applied uint64
	// Learner is the member's own view of its role.
	Learner bool
	// ReadOK is true when a linearizable read through this member succeeded.
	// Learners do not serve such reads; for them it is false.
	ReadOK bool
	// Version is the server's version, such as "3.6.16"; DBSize is in bytes.
	Version string
	DBSize  int64
	// Revision is the revision of the member's data.
	Revision int64
	// Downgrade is the version, such as "3.6.0", to which the cluster is being
	// downgraded, or "" if none; as of 3.6.
	Downgrade string
	// CertificateEnd is the end of the validity of the certificate that the member
	// presented, zero over http.
	CertificateEnd time.Time
	// Alarms are the alarms that the member reports, its own and others'.
	Alarms []Alarm
}

// IsOf reports whether the member itself gave the answer, for this cluster. Behind a load
// balancer another member may answer; then nothing is known about this member.
func (a Answer) IsOf(id MemberID, cluster ClusterID) bool {
	return a.State == Answered && a.MemberID == id && a.ClusterID == cluster
}

// Alarm is raised by one member for the whole cluster, until it is disarmed.
type Alarm struct {
	Member MemberID
	// Kind is etcd's own word: NOSPACE or CORRUPT.
	Kind string
}

// Snapshot is an observation of a cluster within one request timeout.
type Snapshot struct {
	ClusterID ClusterID
	// Members is the member list, sorted by ID.
	Members []Member
	// Answers holds one entry for every member that was asked; a member
	// without an entry is Unprobed.
	Answers map[MemberID]Answer
	// Linearizable is true if a majority of the voters in the list returned this
	// list, each of them itself and through a quorum, and the list was the same
	// after the members had been asked.
	Linearizable bool
	// Dissent are the voters that returned another list, sorted by ID.
	Dissent []MemberID
	// Others lists the endpoints that answered for another cluster, by the ID
	// of that cluster. It is empty in a healthy configuration.
	Others map[ClusterID][]string
	// Pending are the changes of peer URLs that are not proven, by member. They are empty
	// in a snapshot that is only displayed.
	Pending map[MemberID]Pending
	// Heard are the members that do not answer here and that the leader hears. Like Pending
	// they are empty in a snapshot that is only displayed, or if the leader does not say.
	Heard map[MemberID]bool
}

// Member returns the member with the given ID.
func (s Snapshot) Member(id MemberID) (Member, bool) {
	return find(s.Members, func(m Member) bool { return m.ID == id })
}

// Answer returns what the member said; the zero Answer is Unprobed.
func (s Snapshot) Answer(id MemberID) Answer { return s.Answers[id] }

// Voters returns the members that have a vote, sorted by ID.
func (s Snapshot) Voters() []Member {
	return keep(s.Members, func(m Member) bool { return !m.Learner })
}

// Learners returns the members without a vote, sorted by ID.
func (s Snapshot) Learners() []Member {
	return keep(s.Members, func(m Member) bool { return m.Learner })
}

// Alarms returns the alarms that the answering members report, each once, sorted
// by kind and member, so that CORRUPT comes before NOSPACE. An alarm outlasts the
// member that raised it.
func (s Snapshot) Alarms() (out []Alarm) {
	for _, m := range s.Members {
		if s.answers(m.ID) {
			out = append(out, s.Answer(m.ID).Alarms...)
		}
	}
	slices.SortFunc(out, func(a, b Alarm) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Member, b.Member)) })
	return slices.Compact(out)
}

// Writable refuses a change while an alarm is raised. The facts are those to report to an
// operator: the worst kind, and the members that raised it.
//
// An alarm of either kind stops all writes (NOSPACE those that need space), so
// neither the lock between processes nor a record can be written. Changes of the
// membership are still possible, and removing a member may be the remedy. So
// removals proceed, with a warning; additions, and replacements, whose second
// half is an addition, do not. The exception is the member that raised CORRUPT:
// its replacement is etcd's own remedy.
func (s Snapshot) Writable(subject MemberID) Decision {
	if raised := s.raised(); len(raised) > 0 {
		return refuse(AlarmRaised, raised[0].Facts).about(subject)
	}
	return Decision{Verdict: Go}
}

// raised returns a warning for each kind of alarm, the worst first. The others are the members
// that raised it, sorted by ID.
func (s Snapshot) raised() (out []Warning) {
	for _, a := range s.Alarms() {
		if n := len(out); n == 0 || out[n-1].Facts.Detail != a.Kind {
			out = append(out, Warning{AlarmRaised, Facts{Detail: a.Kind}})
		}
		f := &out[len(out)-1].Facts
		f.Others = append(f.Others, a.Member)
	}
	return out
}

// corrupt reports whether the member raised a CORRUPT alarm.
func (s Snapshot) corrupt(id MemberID) bool {
	return slices.Contains(s.Alarms(), Alarm{Member: id, Kind: AlarmCorrupt})
}
