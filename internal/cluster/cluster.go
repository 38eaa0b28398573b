// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package cluster is the interface to an etcd cluster, in the terms of package
// membership, and its adapter over clientv3. It observes and changes a cluster;
// it does not make decisions.
package cluster

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Cluster is one etcd cluster. All methods honour ctx, limit each request by
// the request timeout of the settings, and are safe for concurrent use.
type Cluster interface {
	// Observe lists the members, asks each of them and every configured
	// endpoint directly and concurrently, and lists the members again. The list
	// is confirmed (Linearizable) if a majority of the voters on it gave it.
	// Observe takes at most two request timeouts if members list each other,
	// and four in any case. want is the expected cluster, 0 if none is:
	// endpoints of any other cluster are reported in Snapshot.Others. The error
	// is a [*connection.Unreachable] if no endpoint gave a member list.
	Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error)

	// Evidence asks every address that is known: the configured endpoints, the
	// fallback endpoints, and the client URLs in every list. It takes at most four
	// request timeouts. It is for [membership.DecideGiveUp].
	Evidence(ctx context.Context, of membership.ClusterID) membership.Evidence

	// AddFallbackEndpoints adds client URLs at which members were reached in
	// the past. If no other endpoint gave a member list, an Observe of an
	// expected cluster asks these. So a configuration in which every node has a
	// new address still finds its cluster.
	AddFallbackEndpoints(clientURLs []string)

	// Members returns a linearizable member list. It is the answer of one
	// member: enough to learn the cluster's ID, and to wait by.
	Members(ctx context.Context) ([]membership.Member, membership.ClusterID, error)

	// Member asks one member directly at its client URLs. It needs no quorum.
	Member(ctx context.Context, m membership.Member, cluster membership.ClusterID) membership.Answer

	// AddLearner adds a member without a vote and returns its ID. The call goes
	// to the member via if its address is known.
	AddLearner(ctx context.Context, via membership.MemberID, peerURLs []string) (membership.MemberID, error)

	// Promote promotes a learner. Send it to the leader: through a follower it
	// fails with authentication on before 3.5.28 and 3.6.6
	// (etcd-io/etcd#20757).
	Promote(ctx context.Context, via, id membership.MemberID) error

	// Remove removes a member permanently. Send it to a member that stays.
	Remove(ctx context.Context, via, id membership.MemberID) error

	// UpdatePeerURLs replaces the peer URLs of a member.
	UpdatePeerURLs(ctx context.Context, via, id membership.MemberID, peerURLs []string) error

	// MoveLeader moves the leadership from the leader to another voter. It asks
	// the leader itself, and fails if no address of the leader is known.
	MoveLeader(ctx context.Context, leader, to membership.MemberID) error

	// Peers asks a member, preferably the leader, to which other members it has
	// a connection. It is a second source for which members have failed. A
	// member that is missing from the answer is not known. The leader's answer
	// is not enough for doubted members, which do not answer here: Peers
	// watches for up to 4 s whether they send something to it. A member that is
	// silent for 2 s after something was sent to it counts as not connected.
	Peers(ctx context.Context, of membership.MemberID, doubted []membership.MemberID) (map[membership.MemberID]bool, error)

	// Metrics asks a member, preferably the leader, for what its metrics say about the
	// others.
	Metrics(ctx context.Context, of membership.MemberID) (Metrics, error)

	// Records, Turns, URLChanges and ObjectRecords return what the cluster with the ID
	// has on record: the ownership records by owner, the replacements in progress by the
	// name of the member. A change of URLs has the text form of its member's ID as its name,
	// and the etcd_cluster that changes the nodes has none.
	Records(id membership.ClusterID) Store[Record]
	Turns(id membership.ClusterID) Store[membership.Turn]
	URLChanges(id membership.ClusterID) Store[membership.URLChange]
	ObjectRecords(id membership.ClusterID) Store[ObjectRecord]

	// Snapshot writes the data of a member to w: its database, followed by the
	// SHA-256 of the database in the last 32 bytes. limit bounds the whole
	// operation.
	Snapshot(ctx context.Context, of membership.MemberID, limit time.Duration, w io.Writer) error

	// Defragment returns the unused space in a member's database to the file
	// system. The member does not answer requests until it returns. After an
	// error, the member may still be defragmenting.
	Defragment(ctx context.Context, id membership.MemberID, limit time.Duration) error
}

// Sentinels for the server's answers to a change. [errors.Is] finds them in the
// error of the call.
var (
	// ErrUnhealthy: a voter was not connected for the last five seconds (etcd's
	// HealthInterval). Wait, observe again, retry.
	ErrUnhealthy = errors.New("the cluster is not healthy enough for a change")
	// errRefused: an added member that never started blocks the change, or the last
	// voter is to be removed; the learner has not caught up, or already votes; the peer
	// URLs or the computed ID are in the list. Read the list before trying again.
	errRefused = errors.New("the cluster refuses the change")
	// ErrLearnerSlotTaken: the cluster accepts no more learners now.
	ErrLearnerSlotTaken = errors.New("the learner slot is taken")
	// ErrNotFound: the member is not in the list. An add can also answer this
	// if the same URL was removed within the same second.
	ErrNotFound = errors.New("the member is not in the list")
	// ErrBadURL: the server does not accept the peer URLs.
	ErrBadURL = errors.New("the server does not accept the peer URLs")
	// ErrAlarm: the alarm NOSPACE or CORRUPT is raised; nothing can be written.
	ErrAlarm = errors.New("an alarm keeps the cluster from writing")
	// ErrPermission: membership changes need the root role.
	ErrPermission = errors.New("permission denied")
	// ErrAmbiguous: the change may have happened, or may still happen: read the
	// list, reconcile, then decide again.
	ErrAmbiguous = errors.New("the outcome is not known")
)

// ErrNoEndpoints means that neither the provider nor the resource configures
// endpoints.
var ErrNoEndpoints = errors.New("no endpoints are configured")
