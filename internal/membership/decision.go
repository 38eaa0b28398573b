// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Verdict is the outcome of a decision.
type Verdict uint8

const (
	// Refuse means that the change must not be made. It is the zero value, so
	// that a decision that was never taken refuses.
	Refuse Verdict = iota
	// Wait means that the change must not be made now, but that time alone
	// may make it possible: look again.
	Wait
	// Go means that the change may be made now.
	Go
	// Done means that nothing is left to do.
	Done
)

// Code says why a decision is not [Go], or what a warning is about. Package
// diag has one text for each.
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
	// ListMoved: the member list was not confirmed, or changed while the
	// members were asked: somebody else is changing it. (wait)
	ListMoved Code = "member list moved"
	// ListsDiffer: no member list is confirmed by a majority of its voters; the
	// others gave another list. (wait)
	ListsDiffer Code = "member lists differ"
	// NotProbed: the others could not be asked, and the change needs to know
	// how they are (see the provider's address_map).
	NotProbed Code = "not probed"
	// MemberDown: the others are voters that do not answer, and the change
	// would leave no room for another failure, or the server refuses it.
	MemberDown Code = "member down"
	// MemberUnstarted: the others were announced and have never started.
	MemberUnstarted Code = "member not started"
	// LearnerSlotTaken: the others are learners, and the cluster takes no
	// more of them now. (wait)
	LearnerSlotTaken Code = "learner slot taken"
	// BelowQuorum: after the change fewer voters would be alive than a quorum.
	BelowQuorum Code = "below quorum"
	// NameTaken, URLTaken: the others bear the name, or one of the peer URLs.
	NameTaken Code = "name taken"
	URLTaken  Code = "peer URL taken"
	// LoopbackURL: a loopback or wildcard peer URL in a cluster whose other
	// members have addresses that can be reached from elsewhere.
	LoopbackURL Code = "loopback peer URL"
	// BadURL: a peer URL that no member can use; Detail is the URL, empty where
	// none was given.
	BadURL Code = "bad peer URL"
	// NotMember: the subject is not in the list.
	NotMember Code = "not a member"
	// NotStarted: the learner has not published its name yet. (wait)
	NotStarted Code = "not started"
	// NotAlive: the subject does not answer now. (wait)
	NotAlive Code = "not alive"
	// OtherLeader: the learner names another leader or term than the majority
	// does. (wait)
	OtherLeader Code = "other leader"
	// Lagging: the learner is too far behind the leader. (wait)
	Lagging Code = "lagging"
	// Unconfirmed: all holds, but for the first time; it must hold twice. (wait)
	Unconfirmed Code = "unconfirmed"
	// LastVoter: the subject is the only voter.
	LastVoter Code = "last voter"
	// NotOurs: the subject's URLs, or its name, are not those that it is known by.
	NotOurs Code = "not ours"
	// OthersNotActive: a member is taken out in order to be replaced, and the
	// others are not all active.
	OthersNotActive Code = "others not active"
	// TurnOfAnother: a member is taken out in order to be replaced, and the
	// replacement of another one is not over: the turns.
	TurnOfAnother Code = "turn of another"
	// ToleranceZero (warning): after the change no further member may fail.
	ToleranceZero Code = "tolerance zero"
	// KnownBadRelease (warning): the others run a release with a known
	// membership bug; Detail names the upstream issue.
	KnownBadRelease Code = "known bad release"
	// VersionTooOld: the change is unsafe on the version in Detail.
	VersionTooOld Code = "version too old"
	// AlarmRaised: the others raised the alarm in Detail, under which nothing
	// can be written.
	AlarmRaised Code = "alarm raised"
	// VoterLives: the subject has a vote, is not known to be dead, and its
	// configuration is to be replaced. (wait)
	VoterLives Code = "voter lives"
	// Unmanaged (warning): the subject has a vote and is not known to be dead,
	// so it stays in the cluster while its configuration goes for good.
	Unmanaged Code = "no longer managed"
	// RecordDisagrees (warning): the ownership record speaks of the subject,
	// and the configuration or the list contradicts it, so nothing is removed.
	RecordDisagrees Code = "record disagrees"
)

// Permanent reports whether a refusal is about what was asked for rather than
// about how the cluster is at the moment, so that another look cannot help.
func (c Code) Permanent() bool {
	switch c {
	case NameTaken, URLTaken, LoopbackURL, BadURL, MixedClusters, AlarmRaised, NotOurs, VersionTooOld, LastVoter,
		NotMember, NotVoter, LearnerUnserved, Interrupts:
		return true
	default:
		return false
	}
}

// Facts are the figures behind a code; diag turns them into sentences.
type Facts struct {
	// Subject is the member the change is about, 0 for one not yet announced.
	Subject MemberID
	// Others are the members in the way, sorted by ID.
	Others []MemberID
	// Voters, Quorum and Alive describe the projection after the change (for
	// QuorumLost: today): how many voters it has, how many of them it needs,
	// and how many of them would be alive.
	Voters, Quorum, Alive int
	// Lag and MaxLag are in raft entries.
	Lag, MaxLag uint64
	// Detail is a version, a URL, an upstream issue: what the code says.
	Detail string
	// Turns are replacements that are not over.
	Turns []Turn
	// Names are nodes, where no member list is known.
	Names []string
	// Problem says what is wrong with the URL in Detail, for BadURL.
	Problem URLProblem
}

// Warning is something the operator should know about a change that goes on.
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
	// MoveLeaderTo is the voter that should lead before the change is made,
	// or 0 if leadership need not move.
	MoveLeaderTo MemberID
}

// AddRequest describes a member that wants in. It always joins as a learner.
type AddRequest struct {
	Name     string
	PeerURLs []string
	// AskServer leaves it to the servers whether there may be another learner
	// beside those in the list. How many they take is a flag of theirs
	// (--max-learners, 1 by default) and can be read nowhere.
	AskServer bool
}

// PromoteRequest describes a learner that wants a vote.
type PromoteRequest struct {
	ID MemberID
	// MaxLag is how far behind the leader the learner may be, in entries; 0
	// means the default, see [defaultMaxLag].
	MaxLag uint64
	// Before is what the learner answered in the previous snapshot of the same
	// wait; its zero value means that there was none.
	Before Answer
}

// RemoveRequest describes a member that is to leave.
type RemoveRequest struct {
	ID MemberID
	// Name and PeerURLs are what the member is known by in state. The URLs must
	// agree with the list before anything is removed. The name is compared only
	// where PeerURLs is empty; an empty name is not compared.
	Name     string
	PeerURLs []string
	// Replacement is true when the member is taken out to be replaced: then
	// every other member must be active, and the last voter never goes.
	Replacement bool
	// Leaving are members known to be on their way out in the same run: they
	// are waited for where they are in the way, and not made leader.
	Leaving []MemberID
	// Next are members that are to be replaced in the same run, after this one:
	// they are rather not made leader.
	Next []MemberID
	// Turns are the replacements that are on record. They matter where
	// Replacement is true.
	Turns []Turn
}
