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
		EnableAuth(tb, newClient(tb, c.opts.clientConfig(false, c.Endpoints()...)), opts.Password)
		// Members apply it one after the other; a read through each one proves it.
		must(tb, c.waitReady(ctx))
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

// EnableAuth creates the user root with that password and turns authentication on.
func EnableAuth(tb TB, client *clientv3.Client, password string) {
	tb.Helper()
	ctx := WaitContext(tb)
	_, err1 := client.UserAdd(ctx, user, password)
	_, err2 := client.UserGrantRole(ctx, user, "root")
	_, err3 := client.AuthEnable(ctx)
	must(tb, errors.Join(err1, err2, err3))
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
