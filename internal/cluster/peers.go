// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"regexp"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// activePeer is a line of a member's metrics: whether it has a connection to
// another member, 1 or 0, within a second of a change (3.4 to 3.7).
var activePeer = regexp.MustCompile(`^etcd_network_active_peers\{Local="([0-9a-f]+)",Remote="([0-9a-f]+)"\} ([0-9.e+]+)$`)

// Peers implements [Cluster].
func (c *Client) Peers(ctx context.Context, of membership.MemberID) (map[membership.MemberID]bool, error) {
	body, err := c.metrics(ctx, of)
	if err != nil {
		return nil, err
	}
	return activePeers(body, of), nil
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
	c.mu.Lock()
	endpoint, known := c.at[of]
	c.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no address is known at which member %s answers", of)
	}
	return c.settings.Get(ctx, endpoint, "/metrics")
}

// activePeers reads the metrics of member of. Behind a load balancer they may
// be another member's: those say nothing about its connections.
func activePeers(metrics []byte, of membership.MemberID) map[membership.MemberID]bool {
	out := map[membership.MemberID]bool{}
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, len(metrics)+1)
	for lines.Scan() {
		found := activePeer.FindSubmatch(lines.Bytes())
		if found == nil {
			continue
		}
		local, err1 := membership.ParseMemberID(string(found[1]))
		remote, err2 := membership.ParseMemberID(string(found[2]))
		if err1 == nil && err2 == nil && local == of {
			out[remote] = string(found[3]) != "0"
		}
	}
	return out
}
