// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Verdict is the outcome of a decision.
type Verdict uint8

const (
	// Refuse means that the change must not be made. It is the zero value, so
	// that a decision that was never made refuses.
	Refuse Verdict = iota
	// Wait means that the change must not be made now, but that time alone may
	// make it possible: observe the cluster again.
	Wait
	// Go means that the change may be made now.
	Go
	// Done means that nothing is left to do.
	Done
)

// Code says why a decision is not [Go], or what a warning is about. Package
// text has one text for each.
type Code string

// The codes. "The others" are the members in [Facts.Others].
const (
	// QuorumLost: fewer voters are alive than a quorum of today's voters. The
	// others are the voters that do not answer.
	QuorumLost Code = "quorum lost"
	// NoLeader: a quorum of voters is alive but does not name one leader and
	// term. (wait)
	NoLeader Code = "no leader"
	// MixedClusters: endpoints answer for different clusters.
	MixedClusters Code = "mixed clusters"
	// ListMoved: the member list was not confirmed, or changed while the members
	// were asked, because another client changes it. (wait)
	ListMoved Code = "member list moved"
	// ListsDiffer: no member list is confirmed by a majority of its voters; the
	// others returned another list. (wait)
	ListsDiffer Code = "member lists differ"
	// NotProbed: the others could not be asked, but the change needs to know
	// their condition (see the provider's address_map).
	NotProbed Code = "not probed"
	// MemberDown: the others are voters that do not answer, and the change
	// would leave no room for another failure, or the server refuses it.
	MemberDown Code = "member down"
	// MemberUnstarted: the others were added and have never started.
	MemberUnstarted Code = "member not started"
	// LearnerSlotTaken: the others are learners, and the cluster accepts no more
	// of them now. (wait)
	LearnerSlotTaken Code = "learner slot taken"
	// BelowQuorum: after the change fewer voters would be alive than a quorum.
	BelowQuorum Code = "below quorum"
	// NameTaken, URLTaken: the others have the name, or one of the peer URLs.
	NameTaken Code = "name taken"
	URLTaken  Code = "peer URL taken"
	// LoopbackURL: a loopback or wildcard peer URL in a cluster whose other
	// members have addresses that can be reached from elsewhere.
	LoopbackURL Code = "loopback peer URL"
	// BadURL: a peer URL that no member can use; Detail is the URL, or empty if
	// none was given.
	BadURL Code = "bad peer URL"
	// NotMember: the subject is not in the list.
	NotMember Code = "not a member"
	// NotStarted: the learner has not published its name yet. (wait)
	NotStarted Code = "not started"
	// NotAlive: the subject does not answer now. (wait)
	NotAlive Code = "not alive"
	// OtherLeader: the learner names another leader or term than the majority.
	// (wait)
	OtherLeader Code = "other leader"
	// Lagging: the learner is too far behind the leader. (wait)
	Lagging Code = "lagging"
	// Unconfirmed: all conditions hold for the first time, but must hold twice. (wait)
	Unconfirmed Code = "unconfirmed"
	// LastVoter: the subject is the only voter.
	LastVoter Code = "last voter"
	// NotOurs: the subject's URLs, or its name, are not those that state has for it.
	NotOurs Code = "not ours"
	// OthersNotActive: the others are not active, but the replacement or the
	// defragmentation of the subject needs every other member to be.
	OthersNotActive Code = "others not active"
	// TurnOfAnother: a member is to be removed for its replacement, but the
	// replacement of another member is not over, see Facts.Turns.
	TurnOfAnother Code = "turn of another"
	// ToleranceZero (warning): after the change no further member may fail.
	ToleranceZero Code = "tolerance zero"
	// KnownBadRelease (warning): the others run a release with a known
	// membership bug; Detail names the upstream issue.
	KnownBadRelease Code = "known bad release"
	// VersionTooOld: the change is unsafe on the version in Detail.
	VersionTooOld Code = "version too old"
	// AlarmRaised: the others raised the alarm in Detail. Nothing can be written
	// while it is raised.
	AlarmRaised Code = "alarm raised"
	// VoterLives: the subject is a voter that is not known to be dead, and its
	// configuration is to be replaced, or an election is going on. (wait)
	VoterLives Code = "voter lives"
	// Unmanaged (warning): the subject is a voter that is not known to be dead.
	// It stays in the cluster, while its configuration is destroyed permanently.
	Unmanaged Code = "no longer managed"
	// RecordDisagrees (warning): the ownership record names the subject, but the
	// configuration or the list contradicts it, so nothing is removed.
	RecordDisagrees Code = "record disagrees"
)

// Permanent reports whether a refusal depends on the request, or on something that
// an operator must do first, rather than on the current state of the cluster, so
// that another observation cannot help.
func (c Code) Permanent() bool {
	return slices.Contains([]Code{NameTaken, URLTaken, LoopbackURL, BadURL, MixedClusters, AlarmRaised, NotOurs, VersionTooOld, LastVoter,
		NotMember, LearnerUnserved, Interrupts, BackupOfAnother}, c)
}

// Facts are the details behind a code; package text turns them into sentences.
type Facts struct {
	// Subject is the member that the change is about, 0 if it is not added yet.
	Subject MemberID
	// Others are the members that the code calls "the others", sorted by ID.
	Others []MemberID
	// Votes describes the projection after the change (for QuorumLost: today).
	Votes
	// Detail is what the code refers to, such as a version, a URL or an issue.
	Detail string
	// Turns are replacements that are not over.
	Turns []Turn
	// Names are the members of a [Ruling], and of [DecideGiveUp].
	Names []string
	// Problem says what is wrong with the URL in Detail, for BadURL.
	Problem URLProblem
}

// Votes are the number of voters, how many of them a quorum needs, and how many are alive.
type Votes struct{ Voters, Quorum, Alive int }

// of returns the facts with other Others.
func (f Facts) of(others []MemberID) Facts {
	f.Others = others
	return f
}

// Warning is something the operator should know about a change that goes ahead.
type Warning struct {
	Code  Code
	Facts Facts
}

// Decision is a verdict with its reason. Code and Facts are set unless the
// verdict is [Go] or [Done].
type Decision struct {
	Verdict  Verdict
	Code     Code
	Facts    Facts
	Warnings []Warning
	// MoveLeaderTo is the voter that should lead before the change is made, or 0
	// if leadership need not move.
	MoveLeaderTo MemberID
}

// AddRequest describes a member to add. It is always added as a learner.
type AddRequest struct {
	Name     string
	PeerURLs []string
	// AskServer leaves it to the servers whether they accept a learner in
	// addition to those in the list. Their limit is a flag (--max-learners, 1 by
	// default), which cannot be read.
	AskServer bool
}

// RemoveRequest describes a member to remove.
type RemoveRequest struct {
	ID MemberID
	// Name and PeerURLs are those that state has for the member. The URLs must
	// agree with the list before the member is removed. The name is compared only
	// if PeerURLs is empty; an empty name is not compared.
	Name     string
	PeerURLs []string
	// Replacement is true if the member is removed in order to be replaced. Unless
	// it is dead, every other member must then be active. The last voter stays.
	Replacement bool
	// Leaving are members that the same Terraform run removes. DecideRemove waits
	// for them if they are in the way, and avoids them as leaders.
	Leaving []MemberID
	// Turns are the replacements on record. They matter only if Replacement is
	// true.
	Turns []Turn
}
