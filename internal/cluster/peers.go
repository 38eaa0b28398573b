// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// activePeer matches a line of a member's metrics: whether it has a connection to
// another member, 1 or 0, within a second of a change (3.4 to 3.7). There are two
// exceptions. In a member that joined by snapshot, the connection to a member that
// it had met before may be counted twice, and is then 1 without a connection. A
// member that was started after the failure of another has no line for that one.
var activePeer = regexp.MustCompile(`(?m)^etcd_network_active_peers\{Local="([0-9a-f]+)",Remote="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// peerTraffic matches a line of a member's metrics: the bytes received from
// another member or sent to it, and the failed sends (3.4 to 3.7).
var peerTraffic = regexp.MustCompile(`(?m)^etcd_network_peer_(received_bytes|sent_bytes|sent_failures)_total\{(?:From|To)="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// leads matches a line of a leader's metrics (3.4 to 3.7).
var leads = regexp.MustCompile(`(?m)^etcd_server_is_leader 1$`)

const (
	// peerSilence is how long a member may be silent after something was sent
	// to it before it counts as failed. A live member answers each of the
	// leader's heartbeats immediately: every 100 ms by default, ten of which
	// make an election timeout.
	peerSilence = 2 * time.Second
	// peerWatch is how long the counters are watched. Without a heartbeat in
	// that time the result is not known.
	peerWatch = 2 * peerSilence
	// peerPoll is the pause between two reads of the counters.
	peerPoll = 100 * time.Millisecond
)

// SeenByLeader asks the leader for its connections if a doubted member does not
// answer here; see [Cluster.Peers]. Without an answer of the leader the result
// is empty, and no change must be proposed.
func SeenByLeader(ctx context.Context, port Cluster, snap membership.Snapshot, doubted []membership.MemberID) map[membership.MemberID]bool {
	leader, _, led := snap.MajorityLeader()
	down := snap.Down()
	doubted = slices.DeleteFunc(slices.Clone(doubted), func(id membership.MemberID) bool { return !slices.Contains(down, id) })
	if !led || len(doubted) == 0 || slices.Contains(down, leader) {
		return nil
	}
	seen, _ := port.Peers(ctx, leader, doubted)
	return seen
}

// Peers implements [Cluster].
func (c *Client) Peers(ctx context.Context, of membership.MemberID, doubted []membership.MemberID) (map[membership.MemberID]bool, error) {
	body, _, err := c.metrics(ctx, of)
	if err != nil {
		return nil, err
	}
	seen := activePeers(body, of)
	if len(seen) == 0 {
		return seen, nil // from another member, or it has no peers
	}
	first := trafficOf(body)
	open := map[membership.MemberID]*peerCheck{}
	for _, id := range doubted {
		if active, known := seen[id]; active || !known {
			open[id] = &peerCheck{last: first[id]}
		}
	}
	clock := c.settings.Time()
	for begin := clock.Now(); len(open) > 0 && clock.Now().Sub(begin) < peerWatch; {
		if err := clock.Sleep(ctx, peerPoll); err != nil {
			return nil, err
		}
		if body, _, err = c.metrics(ctx, of); err != nil {
			return nil, err
		}
		if len(activePeers(body, of)) == 0 || !leads.Match(body) {
			break // a follower has no traffic with most members, even if they are healthy
		}
		now, traffic := clock.Now(), trafficOf(body)
		for id, d := range open {
			if active, settled := d.next(traffic[id], now); settled {
				seen[id] = active
				delete(open, id)
			}
		}
	}
	return seen, nil
}

// Heard is what a member has received from another one.
type Heard struct {
	// Known is false if its metrics do not have the other member.
	Known bool
	// Bytes never becomes less, until the process ends.
	Bytes float64
	// At is the time on the member's clock.
	At time.Time
}

// Heard implements [Cluster].
func (c *Client) Heard(ctx context.Context, of, from membership.MemberID) (Heard, error) {
	body, at, err := c.metrics(ctx, of)
	_, known := activePeers(body, of)[from]
	return Heard{Known: known && !at.IsZero(), Bytes: trafficOf(body)[from].received, At: at}, err
}

// traffic counts the bytes received from a member, and the bytes and failed
// sends to it. Only growth is significant.
type traffic struct{ received, sent float64 }

// peerCheck finds out whether a member sends anything.
type peerCheck struct {
	last traffic
	// since is when something was sent to it after its last message.
	since time.Time
}

// next evaluates the next values of the counters.
func (d *peerCheck) next(t traffic, now time.Time) (active, settled bool) {
	switch {
	case t.received < d.last.received || t.sent < d.last.sent:
		*d = peerCheck{last: t} // the process was restarted, and its counters begin at 0
	case t.received > d.last.received:
		return true, true
	case d.since.IsZero() && t.sent > d.last.sent:
		d.since = now
	}
	return false, !d.since.IsZero() && now.Sub(d.since) >= peerSilence
}

// trafficOf parses the metrics of a member.
func trafficOf(metrics []byte) map[membership.MemberID]traffic {
	out := map[membership.MemberID]traffic{}
	for _, found := range peerTraffic.FindAllSubmatch(metrics, -1) {
		id, err1 := membership.ParseMemberID(string(found[2]))
		n, err2 := strconv.ParseFloat(string(found[3]), 64)
		if err1 != nil || err2 != nil {
			continue
		}
		t := out[id]
		if string(found[1]) == "received_bytes" {
			t.received += n
		} else {
			t.sent += n
		}
		out[id] = t
	}
	return out
}

// snapshotsSent matches a line of a member's metrics: how many snapshots it is
// sending to another member (3.4 to 3.7).
var snapshotsSent = regexp.MustCompile(`(?m)^etcd_network_snapshot_send_inflights_total\{To="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// Sending implements [Cluster].
func (c *Client) Sending(ctx context.Context, from, to membership.MemberID) (bool, error) {
	body, _, err := c.metrics(ctx, from)
	if err != nil {
		return false, err
	}
	for _, found := range snapshotsSent.FindAllSubmatch(body, -1) {
		if id, err := membership.ParseMemberID(string(found[1])); err == nil && id == to && string(found[2]) != "0" {
			return true, nil
		}
	}
	return false, nil
}

// metrics fetches the metrics of a member. Behind a load balancer they may
// belong to another member.
func (c *Client) metrics(ctx context.Context, of membership.MemberID) ([]byte, time.Time, error) {
	endpoint, err := c.addressOf(of)
	if err != nil {
		return nil, time.Time{}, err
	}
	return c.pool.Get(ctx, c.settings, endpoint, "/metrics")
}

// activePeers parses the metrics of member of. Behind a load balancer they may
// belong to another member: those say nothing about the connections of this one.
func activePeers(metrics []byte, of membership.MemberID) map[membership.MemberID]bool {
	out := map[membership.MemberID]bool{}
	for _, found := range activePeer.FindAllSubmatch(metrics, -1) {
		local, err1 := membership.ParseMemberID(string(found[1]))
		remote, err2 := membership.ParseMemberID(string(found[2]))
		if err1 == nil && err2 == nil && local == of {
			out[remote] = string(found[3]) != "0"
		}
	}
	return out
}

// processStart matches the line of a process's metrics that says when it started, in
// seconds since 1970 by the clock of its machine (3.4 to 3.7, on Linux and Windows).
var processStart = regexp.MustCompile(`(?m)^process_start_time_seconds ([0-9.e+]{1,32})$`)

// StartTime implements [Cluster].
func (c *Client) StartTime(ctx context.Context, of membership.MemberID) (string, error) {
	body, _, err := c.metrics(ctx, of)
	if err != nil {
		return "", err
	}
	found := processStart.FindSubmatch(body)
	if found == nil || len(activePeers(body, of)) == 0 { // or it is from another member
		return "", nil
	}
	return string(found[1]), nil
}
