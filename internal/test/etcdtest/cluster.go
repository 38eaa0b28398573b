// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
		must.Succeed(tb, c.waitReady(ctx))
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
	must.Succeed(tb, errors.Join(err1, err2, err3))
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

// WaitHealthy waits until every member serves, as [Process.WaitReady] defines
// it, and all name the same leader. It does not wait for the 5 s for which a
// peer must be connected before etcd considers it healthy.
func (c *Cluster) WaitHealthy(tb TB) {
	tb.Helper()
	must.Succeed(tb, c.waitReady(WaitContext(tb)))
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

// Options select the etcd version and its configuration. The zero value is an
// etcd of [DefaultVersion] without TLS, with etcd's own timing.
type Options struct {
	// Name is the name of the member for [NewProcess]. Empty means infra1.
	Name string
	// Names are the names of the members for [Start]. Missing names are infra1,
	// infra2 and so on.
	Names []string
	// Version is the version of etcd. Empty means [DefaultVersion].
	Version Version
	// TLS enables mutual TLS on client and peer ports.
	TLS *PKI
	// Password enables authentication with the user root after the cluster has
	// formed.
	Password string
	// V2 enables the v2 API (3.4 and 3.5 only).
	V2 bool
	// Env is added to the environment of every process. It overrides the
	// variables of this package.
	Env map[string]string
	// Links puts a [Link] in front of the peer port of every member, so that
	// [Cluster.Split] can cut members off from each other. Linux only.
	Links bool
}

// user is the user to which Options.Password belongs.
const user = "root"

func (o Options) scheme() string {
	if o.TLS != nil {
		return "https"
	}
	return "http"
}

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
	must.Succeed(tb, err)
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
