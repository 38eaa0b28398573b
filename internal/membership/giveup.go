// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// A cluster is given up if a restored one takes its place, or if its members are
// forgotten in a destroy. Their machines are destroyed next, so nothing that may
// serve is given up, and silence is no proof: the operator states the loss.

// Reply says what an answer at one address means for a cluster that is to be
// given up. The zero value stops it.
type Reply uint8

const (
	// ReplyServer: a server answers that may be a member with a quorum. It serves
	// reads, refuses the login or the certificate, offers a certificate that cannot
	// be verified, or returns any other error.
	ReplyServer Reply = iota
	// ReplyLearner: a learner answers. It does not know whether the voters have a
	// quorum.
	ReplyLearner
	// ReplyNoQuorum: a voter answers that it has no quorum: it serves no reads or
	// completes no login.
	ReplyNoQuorum
	// ReplyNone: nothing was heard of the cluster. The address does not answer,
	// refuses connections, was not asked, or is used by another cluster.
	ReplyNone
)

// Heard is what one address answered. Detail is for people.
type Heard struct {
	Endpoint string
	Reply    Reply
	Detail   string
}

// Evidence is what is known about the loss of a cluster. The zero value says that
// no address was asked.
type Evidence struct {
	// Snapshot is the zero value if no member list could be read.
	Snapshot Snapshot
	// Heard has one element for each known address, sorted.
	Heard []Heard
}

// The codes of [DecideGiveUp].
const (
	// HasQuorum: the cluster answers, and may have its quorum.
	HasQuorum Code = "has quorum"
	// MayServe: a server answers that may be a member with a quorum.
	MayServe Code = "may serve"
	// NotStated: no answer shows that the cluster serves, and none proves that it
	// is lost.
	NotStated Code = "loss not stated"
)

// DecideGiveUp decides whether a cluster may be given up. stated is the cluster
// that the operator states is lost, or 0. It checks in this order: too few voters
// answer for a quorum; no other answer shows a server; the loss is stated. So an
// answer always contradicts the statement.
func DecideGiveUp(e Evidence, cluster, stated ClusterID) Decision {
	answers := e.Snapshot.ClusterID == cluster && cluster != 0
	if answers && e.Snapshot.mayDecide() {
		return refuse(HasQuorum, Facts{})
	}
	heard := func(r Reply) bool { return slices.ContainsFunc(e.Heard, func(h Heard) bool { return h.Reply == r }) }
	switch {
	case heard(ReplyServer), heard(ReplyLearner) && !answers && !heard(ReplyNoQuorum):
		return refuse(MayServe, Facts{})
	case cluster == 0 || stated != cluster:
		return refuse(NotStated, Facts{})
	default:
		return Decision{Verdict: Go}
	}
}

// mayDecide reports whether the voters that answer may have a quorum: they are
// enough for an election, or the cluster served a linearizable read.
func (s Snapshot) mayDecide() bool {
	answering := 0
	for _, m := range s.Voters() {
		if s.Alive(m.ID) {
			return true
		}
		if s.answers(m.ID) {
			answering++
		}
	}
	return s.Linearizable || answering >= s.Quorum()
}
