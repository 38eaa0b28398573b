// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// NewJoiner prepares a process that is to join: its initial cluster is the
// members of this moment and itself, its state existing. It is neither
// announced nor started nor tracked.
func (c *Cluster) NewJoiner(tb TB, name string) *Process {
	tb.Helper()
	p := c.newProcess(tb, name, c.opts.version(len(c.opts.Versions)))
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout*5)
	defer cancel()
	client, err := clientv3.New(c.ClientConfig())
	if err != nil {
		tb.Fatalf("etcdtest: %v", err)
	}
	defer func() { _ = client.Close() }()
	list, err := client.MemberList(ctx)
	if err != nil {
		tb.Fatalf("etcdtest: member list: %v", err)
	}
	initial := map[string]string{p.PeerURL(): name}
	for _, m := range list.Members {
		for _, url := range m.PeerURLs {
			if _, ok := initial[url]; !ok {
				// One that has not run has no name yet; any will do.
				initial[url] = m.Name
				if m.Name == "" {
					initial[url] = fmt.Sprintf("unstarted-%x", m.ID)
				}
			}
		}
	}
	var pairs []string
	for _, url := range slices.Sorted(maps.Keys(initial)) {
		pairs = append(pairs, initial[url]+"="+url)
	}
	setDefault(p.Env, "ETCD_INITIAL_CLUSTER", strings.Join(pairs, ","))
	setDefault(p.Env, "ETCD_INITIAL_CLUSTER_STATE", "existing")
	return p
}

// AddLearner announces a new member as a learner, starts its process and
// waits until it serves. The process is not tracked.
func (c *Cluster) AddLearner(tb TB, name string) *Process {
	tb.Helper()
	p := c.NewJoiner(tb, name)
	c.change(tb, "add learner "+name, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberAddAsLearner(ctx, []string{p.PeerURL()})
		return err
	}, rpctypes.ErrUnhealthy)
	p.Start()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := p.WaitReady(ctx); err != nil {
		tb.Fatalf("etcdtest: %v", err)
	}
	return p
}

// Promote makes a learner a voter, waits until it serves as one, and tracks
// it.
func (c *Cluster) Promote(tb TB, p *Process) {
	tb.Helper()
	id := c.MemberID(tb, p)
	// Through the leader: others fail with authentication on, etcd#20757.
	leader := c.Leader(tb)
	c.changeThrough(tb, c.opts.clientConfig(true, leader.ClientURL()), "promote "+p.Name,
		func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.MemberPromote(ctx, id)
			if errors.Is(err, rpctypes.ErrMemberNotLearner) {
				return nil
			}
			return err
		}, rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted)
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := p.WaitReady(ctx); err != nil {
		tb.Fatalf("etcdtest: %v", err)
	}
	c.Track(p)
}

// MemberID returns the ID under which the cluster lists p, by its peer URL;
// none fails the test.
func (c *Cluster) MemberID(tb TB, p *Process) uint64 {
	tb.Helper()
	var id uint64
	c.change(tb, "member list", func(ctx context.Context, client *clientv3.Client) error {
		list, err := client.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, m := range list.Members {
			for _, url := range m.PeerURLs {
				if url == p.PeerURL() {
					id = m.ID
					return nil
				}
			}
		}
		return fmt.Errorf("no member has the peer URL %s of %s", p.PeerURL(), p.Name)
	})
	return id
}

func (c *Cluster) change(tb TB, what string, do func(context.Context, *clientv3.Client) error, again ...error) {
	tb.Helper()
	c.changeThrough(tb, c.ClientConfig(), what, do, again...)
}

// changeThrough calls do until it succeeds or fails with an error other than
// those that are worth another try.
func (c *Cluster) changeThrough(tb TB, cfg clientv3.Config, what string, do func(context.Context, *clientv3.Client) error, again ...error) {
	tb.Helper()
	client, err := clientv3.New(cfg)
	if err != nil {
		tb.Fatalf("etcdtest: %s: %v", what, err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	err = poll(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		err := do(ctx, client)
		if err == nil {
			return nil
		}
		for _, a := range again {
			if errors.Is(err, a) {
				return err
			}
		}
		return finalError{err}
	})
	if err != nil {
		tb.Fatalf("etcdtest: %s: %v", what, err)
	}
}
