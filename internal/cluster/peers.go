// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// activePeer is a line of a member's metrics: whether it has a connection to
// another member, 1 or 0, within a second of a change (3.4 to 3.7). Not always:
// in a member that joined by snapshot the connection to one that it had met
// before may be counted twice, and is then 1 when there is none; and one that
// was started after another's death has no line for that.
var activePeer = regexp.MustCompile(`(?m)^etcd_network_active_peers\{Local="([0-9a-f]+)",Remote="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// peerTraffic is a line of a member's metrics: what it has had from another
// member, or sent to it, or tried in vain to send (3.4 to 3.7).
var peerTraffic = regexp.MustCompile(`(?m)^etcd_network_peer_(received_bytes|sent_bytes|sent_failures)_total\{(?:From|To)="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// leads is a line of a member's metrics (3.4 to 3.7).
var leads = regexp.MustCompile(`(?m)^etcd_server_is_leader 1$`)

const (
	// peerSilence is how long a member that was sent something may say nothing
	// before it counts as gone. One that lives answers each of the leader's
	// heartbeats at once: every 100 ms by default, ten of which make an election
	// timeout.
	peerSilence = 2 * time.Second
	// peerWatch is how long the counters are looked at. Without any heartbeat in that
	// time nothing is known.
	peerWatch = 2 * peerSilence
	// peerPoll is what lies between two looks at the counters.
	peerPoll = 100 * time.Millisecond
)

// SeenByLeader asks the leader for its connections where one of the members in
// doubt does not answer here; see [Cluster.Peers]. Without its word the answer
// is empty, and nothing is to be proposed.
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
	body, err := c.metrics(ctx, of)
	if err != nil {
		return nil, err
	}
	seen := activePeers(body, of)
	if len(seen) == 0 {
		return seen, nil // another member's, or it knows nobody
	}
	first := trafficOf(body)
	open := map[membership.MemberID]*peerCheck{}
	for _, id := range doubted {
		if active, known := seen[id]; active || !known {
			open[id] = &peerCheck{last: first[id]}
		}
	}
	for begin := time.Now(); len(open) > 0 && time.Since(begin) < peerWatch; {
		if err := (clock.System{}).Sleep(ctx, peerPoll); err != nil {
			return nil, err
		}
		if body, err = c.metrics(ctx, of); err != nil {
			return nil, err
		}
		if len(activePeers(body, of)) == 0 || !leads.Match(body) {
			break // others hear nothing of most members, however well these are
		}
		now, traffic := time.Now(), trafficOf(body)
		for id, d := range open {
			if active, settled := d.next(traffic[id], now); settled {
				seen[id] = active
				delete(open, id)
			}
		}
	}
	return seen, nil
}

// traffic is what a member has had from another, and has sent to it: bytes, and
// attempts in vain. Only whether it grows means anything.
type traffic struct{ received, sent float64 }

// peerCheck is a member of which it is to be found out whether it says anything.
type peerCheck struct {
	last traffic
	// since is when something had been sent to it after its last word.
	since time.Time
}

// next takes the next look at the counters.
func (d *peerCheck) next(t traffic, now time.Time) (active, settled bool) {
	switch {
	case t.received < d.last.received || t.sent < d.last.sent:
		*d = peerCheck{last: t} // they count from the start of the process
	case t.received > d.last.received:
		return true, true
	case d.since.IsZero() && t.sent > d.last.sent:
		d.since = now
	}
	return false, !d.since.IsZero() && now.Sub(d.since) >= peerSilence
}

// trafficOf reads the metrics of a member.
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

// snapshotsSent is a line of a member's metrics: how many snapshots it is
// sending to another member (3.4 to 3.7).
var snapshotsSent = regexp.MustCompile(`(?m)^etcd_network_snapshot_send_inflights_total\{To="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// Sending implements [Cluster].
func (c *Client) Sending(ctx context.Context, from, to membership.MemberID) (bool, error) {
	body, err := c.metrics(ctx, from)
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

// metrics fetches the metrics of a member. Behind a load balancer they may be
// another's.
func (c *Client) metrics(ctx context.Context, of membership.MemberID) ([]byte, error) {
	endpoint, err := c.addressOf(of)
	if err != nil {
		return nil, err
	}
	return c.pool.Get(ctx, c.settings, endpoint, "/metrics")
}

// activePeers reads the metrics of member of. Behind a load balancer they may
// be another member's: those say nothing about its connections.
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
