// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Ownership is what the ownership record says: that the provider added this
// member. The zero value means that there is no record.
type Ownership struct {
	// Recorded is true if there is a record. If ID is 0, the intent was recorded,
	// and the member may have been added or not.
	Recorded bool
	ID       MemberID
	PeerURLs []string
	// Removed is true if Terraform removed the member.
	Removed bool
}

// IdentifyRequest describes the member to look for.
type IdentifyRequest struct {
	// ID is the ID of the member if it is known, otherwise 0.
	ID       MemberID
	Name     string
	PeerURLs []string
	// Initial is true for an initial member: it forms the cluster together with others. It
	// is never added; it is in the list from the start, or its absence is an error.
	Initial bool
	// InitialMembers is the number of initial members; 0 if this bootstrap is not
	// expected to form the cluster, or if the number is not known.
	InitialMembers int
	Ownership      Ownership
	// Abandoned are the ownerships of other owners whose Terraform run added a
	// member with this name and these peer URLs, or was about to, and ended
	// before any state had the member.
	Abandoned []Ownership
	// Owned are the members on record for other owners.
	Owned []MemberID
	// OtherMachine is true if the record has another machine than the member gets.
	OtherMachine bool
}

// Step is what to do about the member.
type Step uint8

const (
	// StepRefuse: the member must not be changed, for the reason in Code.
	StepRefuse Step = iota
	// StepAdd: no such member is in the list; add it.
	StepAdd
	// StepAdopt: the member with the ID is ours; continue with it.
	StepAdopt
	// StepRemove: the member with the ID is ours, was added with other peer
	// URLs and has never started; remove it, then add the right one.
	StepRemove
	// StepTakeOver: the member with the ID was added, with the same name and peer
	// URLs, by a Terraform run that was interrupted before any state had the
	// member, and has never started; adopt it as it is.
	StepTakeOver
)

// The codes of [Identify].
const (
	// AlreadyMember: a member with these peer URLs is in the cluster and was not
	// added by us: it must be imported.
	AlreadyMember Code = "already a member"
	// AddedElsewhere: another owner added a member with these peer URLs, and
	// the member has not started.
	AddedElsewhere Code = "added by someone else"
	// InitialMissing: the cluster was formed without this initial member.
	InitialMissing Code = "initial member missing"
	// FormedAlone: one member formed the cluster by itself, but several were to
	// form it. Others holds that member.
	FormedAlone Code = "formed alone"
	// InitialRenamed: the peer URLs of this initial member belong to a member
	// with another name.
	InitialRenamed Code = "initial member of another name"
	// OtherName: the member is ours, but its process has published another name
	// than the wanted name, which is in Detail.
	OtherName Code = "other name"
	// OtherMachine: the member is ours, and lives on another machine than the wanted one.
	OtherMachine Code = "other machine"
	// MovedMember: the member is ours, but has other peer URLs.
	MovedMember Code = "member moved"
)

// Identity is the outcome of [Identify]. Code and Facts are set with StepRefuse,
// ID with StepAdopt, StepRemove and StepTakeOver.
type Identity struct {
	Step  Step
	ID    MemberID
	Code  Code
	Facts Facts
}

// Identify decides whether the wanted member is in the list, and whether it is
// ours. It uses the ownership record, the whole set of peer URLs, and for an
// initial member the name and the URLs together, or the URLs alone while the list
// has only initial members and the name is not published yet. It never uses
// reachability, and never a name alone. It does not adopt a member that another
// owner has on record, because two configurations would manage it.
func Identify(s Snapshot, r IdentifyRequest) Identity {
	if m, alone := soleInitialMember(s); alone && r.InitialMembers > 1 && !r.Ownership.Recorded {
		return m.refused(FormedAlone, "")
	}
	if len(s.Others) > 0 { // with several clusters, the list may be another cluster's
		return Identity{Code: MixedClusters, Facts: Facts{Subject: r.ID}}
	}
	if r.ID != 0 {
		m, listed := s.Member(r.ID)
		switch {
		case !listed:
			return Identity{Code: NotMember, Facts: Facts{Subject: r.ID}}
		case !SameURLs(m.PeerURLs, r.PeerURLs):
			return m.refused(MovedMember, "")
		}
		return Identity{Step: StepAdopt, ID: m.ID}
	}
	if m, ok := s.MemberOnRecord(r.Ownership); ok {
		return s.identifyOwned(m, r)
	}
	if m, ok := byURLs(s, r.PeerURLs); ok {
		return s.identifyOther(m, r)
	}
	if m, ok := find(s.Members, func(m Member) bool { return m.Name == r.Name }); ok {
		return m.refused(NameTaken, r.Name)
	}
	if r.Initial && !r.Ownership.Recorded {
		return Identity{Code: InitialMissing, Facts: Facts{Detail: r.Name}}
	}
	return Identity{Step: StepAdd}
}

// refused returns the refusal to use a member.
func (m Member) refused(code Code, detail string) Identity {
	return Identity{Code: code, Facts: Facts{Subject: m.ID, Others: []MemberID{m.ID}, Detail: detail}}
}

// identifyOwned decides about the member that the ownership record names.
func (s Snapshot) identifyOwned(m Member, r IdentifyRequest) Identity {
	same := SameURLs(m.PeerURLs, r.PeerURLs)
	switch {
	case same && r.OtherMachine && s.Alive(m.ID):
		return m.refused(OtherMachine, "")
	case same:
		return Identity{Step: StepAdopt, ID: m.ID}
	case m.Learner && !m.Started() && SameURLs(m.PeerURLs, r.Ownership.PeerURLs):
		return Identity{Step: StepRemove, ID: m.ID}
	}
	return m.refused(MovedMember, "")
}

// identifyOther decides about a member with the wanted peer URLs that the record does not
// name.
func (s Snapshot) identifyOther(m Member, r IdentifyRequest) Identity {
	initial := r.Initial && !m.Learner
	// The cluster ID follows from the IDs of the initial members, and no bootstrap gives the ID of
	// a member that is added later. In a cluster that etcd 3.5 restored, initial members that have
	// not started have no names.
	named := m.Name == r.Name || m.Name == "" && s.ClusterID == ComputeClusterID(IDs(s.Members))
	switch {
	case initial && named && !r.Ownership.Removed && !slices.Contains(r.Owned, m.ID):
		return Identity{Step: StepAdopt, ID: m.ID}
	case initial && m.Name != "" && m.Name != r.Name:
		return m.refused(InitialRenamed, m.Name)
	case m.Name != "" || len(m.ClientURLs) > 0:
		return m.refused(AlreadyMember, m.Name)
	case m.Learner && abandoned(m, r.Abandoned):
		return Identity{Step: StepTakeOver, ID: m.ID}
	}
	return m.refused(AddedElsewhere, m.Name)
}

// CheckName refuses a member of ours whose process has published another name
// than the wanted name. Callers check as soon as the name is known, and before
// the member is promoted: a learner with a wrong name can still be removed
// without a loss. ok is true if CheckName does not refuse.
func CheckName(m Member, want string) (refused Identity, ok bool) {
	if !m.Started() || m.Name == want {
		return Identity{}, true
	}
	return m.refused(OtherName, want), false
}

// abandoned reports whether one of the ownerships is for the member.
func abandoned(m Member, ownerships []Ownership) bool {
	return slices.ContainsFunc(ownerships, func(o Ownership) bool {
		return o.Recorded && !o.Removed && SameURLs(o.PeerURLs, m.PeerURLs) && (o.ID == m.ID || o.ID == 0)
	})
}

func byURLs(s Snapshot, urls []string) (Member, bool) {
	return find(s.Members, func(m Member) bool { return len(urls) > 0 && SameURLs(m.PeerURLs, urls) })
}

// soleInitialMember returns the voter that formed the cluster by itself, if it is still in
// the list. A member that does not understand its bootstrap (a v3 discovery token
// before etcd 3.6 without the join script, a v2 URL from 3.7 on) ignores it and
// forms such a cluster without an error. The cluster ID shows it: it is computed
// from the IDs of the initial members and does not change when others join.
func soleInitialMember(s Snapshot) (Member, bool) {
	return find(s.Voters(), func(m Member) bool { return ComputeClusterID([]MemberID{m.ID}) == s.ClusterID })
}
