// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package cluster is the port to an etcd cluster, in the words of package
// membership, and its adapter over clientv3. It observes and it changes; it
// decides nothing.
package cluster

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Cluster is one etcd cluster as seen from here. All methods honour ctx, limit
// each request by the request timeout of the settings, and may be called from
// several goroutines at once.
type Cluster interface {
	// Observe lists the members, asks each of them and every configured
	// endpoint directly and all at once, and lists the members again. The list is
	// confirmed (Linearizable) if a majority of the voters on it gave it. It takes
	// at most two request timeouts where members list each other, and four in any
	// case. want is the cluster that is expected, 0 if
	// none is: endpoints of any other are reported in Snapshot.Others.
	// The error is an [*connection.Unreachable] when no endpoint gave a member list.
	Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error)

	// Look is an Observe for those who only read: each member is asked the same,
	// but one list is read once, through a quorum, and not again at the end. So
	// it is the word of one member about one moment, which is enough to
	// show and to plan, and not enough to change anything. It takes one request
	// timeout where some member does not answer. Where no quorum gives a list,
	// or endpoints answer for several clusters, it is an Observe, which begins a
	// fifth of a request timeout later at most.
	Look(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error)

	// Know notes client URLs at which members were reached in the past. An
	// Observe of an expected cluster asks there when no other endpoint gave a
	// member list: so that a configuration in which every node has another
	// address than before still finds the cluster it has.
	AddFallbackEndpoints(clientURLs []string)

	// Members lists the members through a quorum (linearizable). It is the word of
	// one member: enough to learn the cluster's ID, and to wait by.
	Members(ctx context.Context) ([]membership.Member, membership.ClusterID, error)

	// Ask asks one member directly, by its client URLs. It needs no quorum.
	Ask(ctx context.Context, m membership.Member, cluster membership.ClusterID) membership.Answer

	// AddLearner announces a member without a vote and returns its ID. The
	// call goes to the member via where its address is known.
	AddLearner(ctx context.Context, via membership.MemberID, peerURLs []string) (membership.MemberID, error)

	// Promote gives a learner its vote. Send it to the leader: through a
	// follower it fails with authentication on before 3.5.28 and 3.6.6
	// (etcd-io/etcd#20757).
	Promote(ctx context.Context, via, id membership.MemberID) error

	// Remove takes a member out for ever. Send it to a member that stays.
	Remove(ctx context.Context, via, id membership.MemberID) error

	// UpdatePeerURLs replaces the peer URLs of a member.
	UpdatePeerURLs(ctx context.Context, via, id membership.MemberID, peerURLs []string) error

	// MoveLeader hands leadership from the leader to another voter.
	MoveLeader(ctx context.Context, leader, to membership.MemberID) error

	// Peers asks a member, best the leader, which other members it has a
	// connection to: a second witness of who is gone. A member that is missing
	// from the answer was not spoken of. Of those in doubt, which do not answer
	// here, a leader's word is not taken that they live: they are given 2 s to
	// say something to it, 4 s where nothing is sent to them, and then their
	// silence counts.
	Peers(ctx context.Context, of membership.MemberID, doubted []membership.MemberID) (map[membership.MemberID]bool, error)

	// Sending asks a member, best the leader, whether it is sending a snapshot
	// to another one at this moment.
	Sending(ctx context.Context, from, to membership.MemberID) (bool, error)

	// Records returns the ownership records that this cluster keeps under its ID.
	// Without an ID (0) every method of them fails with
	// [membership.ErrNoClusterID].
	Records(id membership.ClusterID) Records

	// Turns returns the replacements under way that are on record in this
	// cluster, under its ID as above.
	Turns(id membership.ClusterID) Turns

	maintenance
}

// maintenance is what is done to one member of a cluster, or for it, without
// changing who is a member.
type maintenance interface {
	// Snapshot writes the data of a member to w: its database, and the SHA-256
	// of that in the last 32 bytes. limit bounds the whole.
	Snapshot(ctx context.Context, of membership.MemberID, limit time.Duration, w io.Writer) error

	// Defragment gives the space that a member's database does not use back to
	// the file system. Until it returns the member answers nobody. After an
	// error it may be at it still.
	Defragment(ctx context.Context, id membership.MemberID, limit time.Duration) error

	// DisarmAlarm takes one alarm back, through the member via. One that is not
	// raised is no error.
	DisarmAlarm(ctx context.Context, via membership.MemberID, a membership.Alarm) error
}

// Sentinels for what the server answers to a change. [errors.Is] finds them
// under the error that the server gave.
var (
	// ErrUnhealthy: some voter was not connected for the last five seconds
	// (etcd's HealthInterval). Settle, look again, retry.
	ErrUnhealthy = errors.New("the cluster is not healthy enough for a change")
	// errNotEnoughStarted: a member that was announced and never started
	// blocks the change. Also etcd's answer to removing the last voter.
	errNotEnoughStarted = errors.New("not enough started members")
	// ErrLearnerSlotTaken: the cluster takes no more learners now.
	ErrLearnerSlotTaken = errors.New("the learner slot is taken")
	// errNotInSync: the learner has not caught up, or was promoted already:
	// list before trying again.
	errNotInSync = errors.New("the learner is not in sync with the leader")
	// errNotLearner: the member has a vote already.
	errNotLearner = errors.New("the member is not a learner")
	// errExists: the peer URLs or the computed ID are in the list already.
	errExists = errors.New("a member with these peer URLs exists")
	// ErrNotFound: the member is not in the list. An add can answer it too,
	// when the same URL was removed within the same second.
	ErrNotFound = errors.New("the member is not in the list")
	// ErrBadURL: the server does not accept the peer URLs.
	ErrBadURL = errors.New("the server does not accept the peer URLs")
	// ErrAlarm: an alarm is raised, NOSPACE or CORRUPT; nothing is written.
	ErrAlarm = errors.New("an alarm keeps the cluster from writing")
	// ErrPermission: membership needs the root role.
	ErrPermission = errors.New("permission denied")
	// ErrAmbiguous: the change may have happened or not, or may still happen:
	// list, reconcile, then decide again.
	ErrAmbiguous = errors.New("the outcome is not known")
)

// ErrNoEndpoints means that neither the provider nor the resource says where
// the cluster is.
var ErrNoEndpoints = errors.New("no endpoints are configured")
