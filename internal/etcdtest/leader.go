// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
)

// WaitHealthy waits until every member serves, as [Process.WaitReady] defines
// it, and all name the same leader. It does not wait for the 5 s for which a
// peer must be connected before etcd considers it healthy.
func (c *Cluster) WaitHealthy(tb TB) {
	tb.Helper()
	must(tb, c.waitReady(WaitContext(tb)))
	c.waitLeader(tb, len(c.Members()))
}

// Leader waits for a member that a majority of the members, and the member
// itself, name as the leader, and returns it.
func (c *Cluster) Leader(tb TB) *Process { tb.Helper(); return c.waitLeader(tb, len(c.Members())/2+1) }

// waitLeader waits until that many members name the same leader.
func (c *Cluster) waitLeader(tb TB, enough int) (leader *Process) {
	tb.Helper()
	client := c.Client(tb)
	Eventually(tb, "a leader", func() error {
		votes, errs := map[uint64]int{}, []error{errors.New("nobody leads")}
		// After a split, a second member can still consider itself the leader.
		leads := map[uint64]*Process{}
		for _, p := range c.Members() {
			ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
			status, err := client.Status(ctx, p.ClientURL())
			cancel()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
				continue
			}
			votes[status.Leader]++
			if status.Leader == status.Header.MemberId {
				leads[status.Leader] = p
			}
		}
		for id, p := range leads {
			if votes[id] >= enough {
				leader = p
				return nil
			}
		}
		return errors.Join(errs...)
	})
	return leader
}
