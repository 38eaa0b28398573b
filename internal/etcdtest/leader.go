// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// WaitHealthy waits until every member serves, as [Process.WaitReady] defines
// it, and all name the same leader. It does not wait for the 5 s for which a
// peer must be connected before etcd considers it healthy.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	_, err := c.waitLeader(ctx, func(votes, members int) bool { return votes == members })
	return err
}

// Leader waits for a member that a majority of the members, and the member
// itself, name as the leader, and returns it. It fails the test if there is no
// such member within [WaitLimit].
func (c *Cluster) Leader(tb TB) *Process {
	tb.Helper()
	ctx := WaitContext(tb)
	leader, err := c.waitLeader(ctx, func(votes, members int) bool { return votes > members/2 })
	if err != nil {
		tb.Fatalf("etcdtest: no leader: %v", err)
	}
	return leader
}

// waitLeader waits until enough of the members name the same leader.
func (c *Cluster) waitLeader(ctx context.Context, enough func(votes, members int) bool) (leader *Process, err error) {
	var client *clientv3.Client
	defer func() {
		if client != nil {
			_ = client.Close()
		}
	}()
	err = poll(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if client == nil {
			// With a password, New logs in, which requires a leader.
			fresh, err := clientv3.New(c.ClientConfig())
			if err != nil {
				return err
			}
			client = fresh
		}
		members := c.Members()
		named, votes, err := askWhoLeads(ctx, client, members)
		if err != nil {
			return err
		}
		if !enough(votes, len(members)) {
			return fmt.Errorf("only %d of %d members name %s", votes, len(members), named.Name)
		}
		leader = named
		return nil
	})
	return leader, err
}

// askWhoLeads asks all members concurrently. It returns the process that most
// of the answers name as leader, and the number of these answers.
func askWhoLeads(ctx context.Context, client *clientv3.Client, members []*Process) (*Process, int, error) {
	type answer struct {
		id, leader uint64
		err        error
	}
	answers := make([]answer, len(members))
	var wg sync.WaitGroup
	for i, p := range members {
		wg.Go(func() {
			status, err := client.Status(ctx, p.ClientURL())
			if err != nil {
				answers[i].err = fmt.Errorf("%s: %w", p.Name, err)
				return
			}
			answers[i] = answer{id: status.Header.MemberId, leader: status.Leader}
		})
	}
	wg.Wait()
	votes := map[uint64]int{}
	errs := []error{errors.New("nobody leads")}
	for _, a := range answers {
		if a.err != nil {
			errs = append(errs, a.err)
		} else {
			votes[a.leader]++
		}
	}
	var leader *Process
	most := 0
	for i, a := range answers {
		// After a split, a second member can still consider itself the leader.
		if a.err == nil && a.leader != 0 && a.leader == a.id && votes[a.id] > most {
			leader, most = members[i], votes[a.id]
		}
	}
	if leader == nil {
		return nil, 0, errors.Join(errs...)
	}
	return leader, most, nil
}
