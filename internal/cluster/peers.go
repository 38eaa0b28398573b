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

// Metrics is what the metrics of one member say about its connections (3.4 to 3.7).
type Metrics struct {
	// Start is the start time of its process, "" if they do not say it, or are those of
	// another member, as behind a load balancer. It tells processes of one member apart,
	// and must not be compared with any clock.
	Start string
	// Connected contains other members, and whether it has a connection to them, within a
	// second of a change. There are two exceptions. In a member that joined by snapshot,
	// the connection to a member that it had met before may be counted twice, and then
	// seems to be there without one. A member that was started after the failure of
	// another does not have that one. It is empty if the metrics are those of another.
	Connected map[membership.MemberID]bool
	// Traffic is that with each member. It never becomes less, until the process ends.
	Traffic map[membership.MemberID]Traffic
	// Sending contains the members to which it is sending a snapshot at this moment.
	Sending map[membership.MemberID]bool
	// At is the time on the member's clock, zero if it is not known.
	At time.Time

	leads bool
}

// Traffic counts the bytes received from a member, and the bytes and failed sends to it.
type Traffic struct{ Received, sent float64 }

// metric matches a line of a member's metrics: its name, the member itself, another
// member, and the value. The start time of the process is in seconds since 1970 by the
// clock of its machine, on Linux and Windows.
var metric = regexp.MustCompile(`(?m)^(process_start_time_seconds|etcd_server_is_leader|etcd_network_[a-z_]+)` +
	`(?:\{(?:Local="([0-9a-f]+)",)?(?:Remote|From|To)="([0-9a-f]+)"\})? ([0-9.e+]{1,32})$`)

// metricsFrom parses the metrics of member of.
func metricsFrom(body []byte, of membership.MemberID) Metrics {
	m := Metrics{Connected: map[membership.MemberID]bool{}, Traffic: map[membership.MemberID]Traffic{}, Sending: map[membership.MemberID]bool{}}
	for _, found := range metric.FindAllSubmatch(body, -1) {
		value, err := strconv.ParseFloat(string(found[4]), 64)
		if err != nil {
			continue
		}
		id, unnamed := membership.ParseMemberID(string(found[3]))
		t := m.Traffic[id]
		switch name := string(found[1]); {
		case name == "process_start_time_seconds":
			m.Start = string(found[4])
		case name == "etcd_server_is_leader":
			m.leads = value == 1
		case unnamed != nil:
		case name == "etcd_network_active_peers" && string(found[2]) == of.String():
			m.Connected[id] = value != 0
		case name == "etcd_network_peer_received_bytes_total":
			m.Traffic[id] = Traffic{t.Received + value, t.sent}
		case name == "etcd_network_peer_sent_bytes_total", name == "etcd_network_peer_sent_failures_total":
			m.Traffic[id] = Traffic{t.Received, t.sent + value}
		case name == "etcd_network_snapshot_send_inflights_total":
			m.Sending[id] = value != 0
		}
	}
	if len(m.Connected) == 0 {
		m.Start = ""
	}
	return m
}

// Metrics implements [Cluster].
func (c *Client) Metrics(ctx context.Context, of membership.MemberID) (Metrics, error) {
	endpoint, err := c.addressOf(of)
	if err != nil {
		return Metrics{}, err
	}
	body, at, err := c.pool.Metrics(ctx, c.settings, endpoint)
	m := metricsFrom(body, of)
	m.At = at
	return m, err
}

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
	first, err := c.Metrics(ctx, of)
	if err != nil {
		return nil, err
	}
	seen := first.Connected
	open := map[membership.MemberID]*peerCheck{}
	for _, id := range doubted {
		if active, known := seen[id]; len(seen) > 0 && (active || !known) {
			open[id] = &peerCheck{last: first.Traffic[id]}
		}
	}
	clock := c.settings.Time()
	for begin := clock.Now(); len(open) > 0 && clock.Now().Sub(begin) < peerWatch; {
		if err := clock.Sleep(ctx, peerPoll); err != nil {
			return nil, err
		}
		m, err := c.Metrics(ctx, of)
		if err != nil {
			return nil, err
		}
		if len(m.Connected) == 0 || !m.leads {
			break // a follower has no traffic with most members, even if they are healthy
		}
		now := clock.Now()
		for id, d := range open {
			if active, settled := d.next(m.Traffic[id], now); settled {
				seen[id] = active
				delete(open, id)
			}
		}
	}
	return seen, nil
}

// peerCheck finds out whether a member sends anything.
type peerCheck struct {
	last Traffic
	// since is when something was sent to it after its last message.
	since time.Time
}

// next evaluates the next values of the counters.
func (d *peerCheck) next(t Traffic, now time.Time) (active, settled bool) {
	switch {
	case t.Received < d.last.Received || t.sent < d.last.sent:
		*d = peerCheck{last: t} // the process was restarted, and its counters begin at 0
	case t.Received > d.last.Received:
		return true, true
	case d.since.IsZero() && t.sent > d.last.sent:
		d.since = now
	}
	return false, !d.since.IsZero() && now.Sub(d.since) >= peerSilence
}
