// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Bootstrap says what was decided about a member when the configuration of its
// process was made, see [Identify].
type Bootstrap uint8

const (
	// Joiner is a member that joins a cluster that exists.
	Joiner Bootstrap = iota
	// Founder is a member that forms the cluster together with others. It is
	// never announced: it is in the list from the start, or it is an error.
	Founder
)

// Ownership is what the ownership record says: that this member was announced by
// us. Its zero value means that there is no record.
type Ownership struct {
	// Recorded is true if there is a record at all. If ID is 0 the intent was
	// written, and the announcement may have happened or not.
	Recorded bool
	ID       MemberID
	PeerURLs []string
	// Removed is true if Terraform removed the member.
	Removed bool
	// Retired is true when the member has run and its process knows no other
	// identity: once it is out of the list, whoever removed it, it cannot come
	// back, neither with its data (etcd refuses a removed member permanently)
	// nor without.
	Retired bool
}

// IdentifyRequest describes the member that is looked for.
type IdentifyRequest struct {
	// ID is the member where it is known, 0 where it is to be found.
	ID        MemberID
	Name      string
	PeerURLs  []string
	Bootstrap Bootstrap
	// Founders is how many members form the cluster together; 0 where the
	// cluster is not expected to be formed by this bootstrap, or nobody knows.
	Founders  int
	Ownership Ownership
	// Abandoned are the ownerships of other owners whose run announced a member of
	// this very name, with these very peer URLs, or was about to, and never got
	// as far as leaving it to a state.
	Abandoned []Ownership
	// Owned are the members that other owners have on record.
	Owned []MemberID
}

// Step is what to do about the member that was looked for.
type Step uint8

const (
	// StepRefuse: it must not be touched, for the reason in the code.
	StepRefuse Step = iota
	// StepAnnounce: nobody like it is in the list; announce it.
	StepAnnounce
	// StepAdopt: the member with the ID is ours; carry on with it.
	StepAdopt
	// StepWithdraw: the member with the ID is ours, was announced with other
	// peer URLs and never started; take it out, then announce the right one.
	StepWithdraw
	// StepTakeOver: the member with the ID was announced by a run that was cut
	// short before anybody's state knew of it, for the same name and the same
	// peer URLs, and never started; it becomes ours, as it is.
	StepTakeOver
)

// The codes of [Identify].
const (
	// AlreadyMember: a member with these peer URLs (or this name) is in the
	// cluster and was not announced by us: it has to be imported.
	AlreadyMember Code = "already a member"
	// AnnouncedElsewhere: a member with these peer URLs was announced by
	// someone else and has not started.
	AnnouncedElsewhere Code = "announced by someone else"
	// FounderMissing: the cluster was formed without this founder.
	FounderMissing Code = "founder missing"
	// FoundedAlone: the cluster was formed by one member for itself, and several
	// were to form it. Others holds that member.
	FoundedAlone Code = "founded alone"
	// FounderRenamed: the founder's peer URLs belong to a member of another
	// name.
	FounderRenamed Code = "founder of another name"
	// IdentityRetired: the member is ours, has run, and was removed. Its process
	// cannot join again before its configuration is replaced.
	IdentityRetired Code = "identity retired"
	// OtherName: the member is ours, and its process has published another name
	// than the one that is wanted, which is in Detail.
	OtherName Code = "other name"
	// MovedMember: the member is ours and runs with other peer URLs.
	MovedMember Code = "member moved"
)

// Identity is the outcome of [Identify]. Code and Facts are set with
// StepRefuse, ID with all steps but StepAnnounce.
type Identity struct {
	Step  Step
	ID    MemberID
	Code  Code
	Facts Facts
}

// Identify finds out whether the member that is wanted is in the list, and
// whether it is ours. It goes by the ownership record, by the whole set of
// peer URLs, and for a founder by name and URLs together, or by URLs alone while the
// list has only initial members and the name is still to come; never by reachability
// and never by a name alone. A member that another owner has on record is not
// adopted: two configurations would manage it.
func Identify(s Snapshot, r IdentifyRequest) Identity {
	if id, alone := SoleFounder(s); alone && r.Founders > 1 && !r.Ownership.Recorded {
		return Identity{Code: FoundedAlone, Facts: Facts{Subject: id, Others: []MemberID{id}}}
	}
	if len(s.Others) > 0 { // a member in any one of several clusters may be another one
		return Identity{Code: MixedClusters, Facts: Facts{Subject: r.ID}}
	}
	if r.ID != 0 {
		m, listed := s.Member(r.ID)
		switch {
		case !listed:
			return Identity{Code: NotMember, Facts: Facts{Subject: r.ID}}
		case !SameURLs(m.PeerURLs, r.PeerURLs):
			return Identity{Code: MovedMember, Facts: Facts{Subject: m.ID, Others: []MemberID{m.ID}}}
		}
		return Identity{Step: StepAdopt, ID: m.ID}
	}
	if r.Ownership.Recorded && !r.Ownership.Removed {
		if found, ok := identifyOwned(s, r); ok {
			return found
		}
	}
	if m, ok := byURLs(s, r.PeerURLs); ok {
		facts := Facts{Subject: m.ID, Others: []MemberID{m.ID}, Detail: m.Name}
		switch {
		case r.Bootstrap == Founder && !r.Ownership.Removed && !m.Learner && !slices.Contains(r.Owned, m.ID) && (m.Name == r.Name || m.Name == "" && s.isInitial()):
			return Identity{Step: StepAdopt, ID: m.ID}
		case r.Bootstrap == Founder && !m.Learner && m.Name != "" && m.Name != r.Name:
			return Identity{Code: FounderRenamed, Facts: facts}
		case m.Name != "" || len(m.ClientURLs) > 0:
			return Identity{Code: AlreadyMember, Facts: facts}
		case m.Learner && abandoned(m, r.Abandoned):
			return Identity{Step: StepTakeOver, ID: m.ID}
		default:
			return Identity{Code: AnnouncedElsewhere, Facts: facts}
		}
	}
	if m, ok := s.first(func(m Member) bool { return m.Name == r.Name }); ok {
		return Identity{Code: NameTaken, Facts: Facts{Subject: m.ID, Others: []MemberID{m.ID}, Detail: r.Name}}
	}
	if r.Ownership.Recorded && r.Ownership.Retired {
		return Identity{Code: IdentityRetired, Facts: Facts{Subject: r.Ownership.ID, Others: []MemberID{r.Ownership.ID}}}
	}
	if r.Bootstrap == Founder && !r.Ownership.Recorded {
		return Identity{Code: FounderMissing, Facts: Facts{Detail: r.Name}}
	}
	return Identity{Step: StepAnnounce}
}

// isInitial reports whether the members are those that formed the cluster: its ID
// follows from theirs, and a member that is added later has one that no bootstrap
// gives. In a cluster that etcd 3.5 restored, initial members that have not started
// have no names.
func (s Snapshot) isInitial() bool {
	var ids []MemberID
	for _, m := range s.Members {
		ids = append(ids, m.ID)
	}
	return s.ClusterID == ComputeClusterID(ids)
}

// identifyOwned looks for the member that the record speaks of. ok is false
// when it is not in the list: never announced after all, or removed since.
func identifyOwned(s Snapshot, r IdentifyRequest) (Identity, bool) {
	m, ok := s.Member(r.Ownership.ID)
	if r.Ownership.ID == 0 {
		// The intent was written and nothing after it: the only member that it
		// can have become is one with exactly the URLs of the record.
		m, ok = byURLs(s, r.Ownership.PeerURLs)
	}
	switch {
	case !ok:
		return Identity{}, false
	case SameURLs(m.PeerURLs, r.PeerURLs):
		return Identity{Step: StepAdopt, ID: m.ID}, true
	case m.Learner && !m.Started() && SameURLs(m.PeerURLs, r.Ownership.PeerURLs):
		return Identity{Step: StepWithdraw, ID: m.ID}, true
	default:
		return Identity{Code: MovedMember, Facts: Facts{Subject: m.ID, Others: []MemberID{m.ID}}}, true
	}
}

// CheckName refuses a member of ours whose process has published another name
// than the one that is wanted. It is asked as soon as the name is known, and
// before the member is given a vote: a learner with a wrong name can still be
// removed without a loss. ok is true while there is nothing to say.
func CheckName(m Member, want string) (refused Identity, ok bool) {
	if !m.Started() || m.Name == want {
		return Identity{}, true
	}
	return Identity{Code: OtherName, Facts: Facts{Subject: m.ID, Others: []MemberID{m.ID}, Detail: want}}, false
}

// abandoned reports whether one of the ownerships is of the member.
func abandoned(m Member, ownerships []Ownership) bool {
	return slices.ContainsFunc(ownerships, func(o Ownership) bool {
		return o.Recorded && !o.Removed && SameURLs(o.PeerURLs, m.PeerURLs) && (o.ID == m.ID || o.ID == 0)
	})
}

func byURLs(s Snapshot, urls []string) (Member, bool) {
	return s.first(func(m Member) bool { return len(urls) > 0 && SameURLs(m.PeerURLs, urls) })
}

// SoleFounder returns the member that formed the cluster by itself, if one did
// and is still there. A member that does not understand its bootstrap (a v3
// discovery token before etcd 3.6 without the join script, a v2 URL from 3.7 on) ignores it and does
// that, without a word. It shows in the cluster's ID, which is computed from
// the IDs of those who formed it and stays whoever joins later.
func SoleFounder(s Snapshot) (MemberID, bool) {
	for _, m := range s.Voters() {
		if ComputeClusterID([]MemberID{m.ID}) == s.ClusterID {
			return m.ID, true
		}
	}
	return 0, false
}
