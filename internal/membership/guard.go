// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// The codes of what a plan does to several members; see [Judge].
const (
	// SecondReplacement: the plan would replace more than one living voter, the others.
	SecondReplacement Code = "second replacement"
	// SecondUnobserved is [SecondReplacement] for a cluster that cannot be observed.
	SecondUnobserved Code = "second replacement, unobserved"
	// EveryVoterNeeded: the plan would replace a voter, the others, but there are
	// so few voters that the quorum needs each. The machine can be replaced
	// before the member is removed.
	EveryVoterNeeded Code = "every voter needed"
	// NeededUnobserved is [EveryVoterNeeded] for a cluster that cannot be observed.
	// Voters is the number of initial members.
	NeededUnobserved Code = "every voter needed, unobserved"
	// TooFewStay: the plan creates members and leaves fewer than a quorum of
	// today's voters in place. The others are the voters it removes; Alive is
	// how many would stay.
	TooFewStay Code = "too few stay"
	// EveryVoterRemoved (warning): the plan removes every voter, the others.
	EveryVoterRemoved Code = "every voter removed"
	// ProcessStays: a member without a node is replaced, and the plan does not
	// replace its machine.
	ProcessStays Code = "process stays"
	// MachineStays: the node and the member are replaced, the machine stays.
	MachineStays Code = "machine stays"
)

// memberAt returns the member of a name and peer URLs: the member with exactly its peer
// URLs, otherwise a member with any of them, otherwise the member with its name.
func (s Snapshot) memberAt(name string, peerURLs []string) (Member, bool) {
	if m, ok := byURLs(s, peerURLs); ok {
		return m, true
	}
	if m, ok := find(s.Members, func(m Member) bool { return shareURL(m.PeerURLs, peerURLs) }); ok {
		return m, true
	}
	return find(s.Members, func(m Member) bool { return name != "" && m.Name == name })
}
