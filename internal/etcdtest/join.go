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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// NewJoiner prepares the process of a new member: its initial cluster is the
// current members and itself, and its state is existing. NewJoiner does not add
// the member to the cluster, and neither starts nor tracks the process.
func (c *Cluster) NewJoiner(tb TB, name string) *Process {
	tb.Helper()
	p := c.newProcess(tb, name)
	initial := map[string]string{p.PeerURL(): name}
	for _, m := range c.list(tb).Members {
		for _, url := range m.PeerURLs {
			if _, ok := initial[url]; !ok {
				// A member that was never started has no name; any name will do.
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

// AddLearner adds a new member as a learner, starts its process and waits until
// it serves. It does not track the process.
func (c *Cluster) AddLearner(tb TB, name string) *Process {
	tb.Helper()
	p := c.NewJoiner(tb, name)
	c.change(tb, "add learner "+name, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberAddAsLearner(ctx, []string{p.PeerURL()})
		return err
	}, rpctypes.ErrUnhealthy)
	p.Start()
	ctx := WaitContext(tb)
	must.Succeed(tb, p.WaitReady(ctx))
	return p
}

// MemberID returns the ID of the listed member that has the peer URL of p. It
// fails the test if there is none.
func (c *Cluster) MemberID(tb TB, p *Process) uint64 {
	tb.Helper()
	for _, m := range c.list(tb).Members {
		if slices.Contains(m.PeerURLs, p.PeerURL()) {
			return m.ID
		}
	}
	tb.Fatalf("etcdtest: no member has the peer URL %s of %s", p.PeerURL(), p.Name)
	return 0
}

// list returns the members, which may have to wait for an election.
func (c *Cluster) list(tb TB) (list *clientv3.MemberListResponse) {
	tb.Helper()
	c.change(tb, "member list", func(ctx context.Context, client *clientv3.Client) (err error) {
		if list, err = client.MemberList(ctx); err != nil {
			return fmt.Errorf("%w: %w", errNotYet, err)
		}
		return nil
	}, errNotYet)
	return list
}

// change calls do until it succeeds or returns an error that is not again.
func (c *Cluster) change(tb TB, what string, do func(context.Context, *clientv3.Client) error, again error) {
	tb.Helper()
	client, err := clientv3.New(c.config())
	if err != nil {
		tb.Fatalf("etcdtest: %s: %v", what, err)
	}
	defer func() { _ = client.Close() }()
	err = poll(WaitContext(tb), 100*time.Millisecond, func(ctx context.Context) error {
		err := do(ctx, client)
		if err == nil || errors.Is(err, again) {
			return err
		}
		return finalError{err}
	})
	if err != nil {
		tb.Fatalf("etcdtest: %s: %v", what, err)
	}
}
