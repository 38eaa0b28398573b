// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Cluster is a set of processes that form one cluster.
type Cluster struct {
	tb    TB
	opts  Options
	token string

	mu      sync.Mutex
	members []*Process
	linked  []*Process // with Options.Links, the members and those that were prepared since
}

// Start forms a cluster of n members by static bootstrap. It returns when a
// linearizable read through every member succeeds and, if the options have a
// password, authentication is on.
func Start(tb TB, n int, opts Options) *Cluster {
	tb.Helper()
	opts.Version = cmp.Or(opts.Version, DefaultVersion)
	c := &Cluster{tb: tb, opts: opts, token: "etcdtest-" + randomHex()}
	for i := range n {
		name := fmt.Sprintf("infra%d", i+1)
		if i < len(opts.Names) {
			name = opts.Names[i]
		}
		c.members = append(c.members, c.newProcess(tb, name))
	}
	initial := make([]string, n)
	for i, p := range c.members {
		initial[i] = p.Name + "=" + p.PeerURL()
	}
	for _, p := range c.members {
		setDefault(p.Env, "ETCD_INITIAL_CLUSTER", strings.Join(initial, ","))
		setDefault(p.Env, "ETCD_INITIAL_CLUSTER_STATE", "new")
		p.Start()
	}
	ctx := WaitContext(tb)
	if err := c.waitReady(ctx); err != nil {
		tb.Fatalf("etcdtest: the cluster has not formed: %v", err)
	}
	if opts.Password != "" {
		c.enableAuth(ctx, tb)
	}
	return c
}

// newProcess prepares a process with the cluster's options.
func (c *Cluster) newProcess(tb TB, name string) *Process {
	tb.Helper()
	opts := c.opts
	opts.Name = name
	p := NewProcess(tb, opts)
	setDefault(p.Env, "ETCD_INITIAL_CLUSTER_TOKEN", c.token)
	if p.link != nil {
		p.link.change(func() { p.link.source = c.source })
		c.mu.Lock()
		c.linked = append(c.linked, p)
		c.mu.Unlock()
	}
	return p
}

func setDefault(env map[string]string, key, value string) {
	if _, ok := env[key]; !ok {
		env[key] = value
	}
}

// enableAuth creates the user root, with the password of the options, and
// turns authentication on.
func (c *Cluster) enableAuth(ctx context.Context, tb TB) {
	tb.Helper()
	client, err := clientv3.New(c.opts.clientConfig(false, c.Endpoints()...))
	must(tb, err)
	defer func() { _ = client.Close() }()
	if _, err := client.UserAdd(ctx, user, c.opts.Password); err != nil {
		tb.Fatalf("etcdtest: user add: %v", err)
	}
	if _, err := client.UserGrantRole(ctx, user, "root"); err != nil {
		tb.Fatalf("etcdtest: user grant-role: %v", err)
	}
	if _, err := client.AuthEnable(ctx); err != nil {
		tb.Fatalf("etcdtest: auth enable: %v", err)
	}
	// Members apply it one after the other; a read through each one proves it.
	if err := c.waitReady(ctx); err != nil {
		tb.Fatalf("etcdtest: after auth enable: %v", err)
	}
}

// Members returns the processes with which Start formed the cluster, without those
// that Untrack removed.
func (c *Cluster) Members() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members)
}

// Untrack deletes p, a removed member, from the members of c. It does not
// change etcd.
func (c *Cluster) Untrack(p *Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = slices.DeleteFunc(c.members, func(q *Process) bool { return q == p })
}

// Endpoints returns the client URLs of the members.
func (c *Cluster) Endpoints() []string {
	var urls []string
	for _, p := range c.Members() {
		urls = append(urls, p.ClientURL())
	}
	return urls
}

// Client returns a client of all members, with TLS and password if the
// options have them. It is closed when the test ends.
func (c *Cluster) Client(tb TB) *clientv3.Client { tb.Helper(); return newClient(tb, c.config()) }

func (c *Cluster) config() clientv3.Config { return c.opts.clientConfig(true, c.Endpoints()...) }

// waitReady waits for all members concurrently.
func (c *Cluster) waitReady(ctx context.Context) error {
	members := c.Members()
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, p := range members {
		wg.Go(func() { errs[i] = p.WaitReady(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
