// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// probe contains all answers of one endpoint.
type probe struct {
	endpoint string
	status   *clientv3.StatusResponse
	// certificate is [connection.Client.CertificateEnd].
	certificate time.Time
	err         error        // of the status call
	lists       []memberList // a linearizable one first
	listErr     error
}

// from returns the cluster and the member in the status, 0 without one.
func (p probe) from() (membership.ClusterID, membership.MemberID) {
	if p.status == nil {
		return 0, 0
	}
	return membership.ClusterID(p.status.Header.ClusterId), membership.MemberID(p.status.Header.MemberId)
}

// strong returns the linearizable list that an endpoint gave.
func (p probe) strong() (l memberList, ok bool) {
	if len(p.lists) > 0 {
		l = p.lists[0]
	}
	return l, l.quorum
}

// list reads the member list through one endpoint. Before 3.5 the list itself is always
// served locally and may be stale. A linearizable read through the same member just before
// brings it up to date (etcd-io/etcd#18929). That read also succeeds for a user without
// permission to read the key: a server confirms with the quorum first and checks the
// permission afterwards (3.4 to 3.7: TestPermissionIsDeniedAfterTheRead).
func (c *Client) list(ctx context.Context, endpoint string, linearizable bool) (out memberList, err error) {
	err = c.call(ctx, endpoint, func(ctx context.Context, cl *clientv3.Client) error {
		var opts []clientv3.OpOption
		if !linearizable {
			opts = append(opts, clientv3.WithSerializable())
		} else if _, err := cl.Get(ctx, membership.MetadataPrefix, clientv3.WithCountOnly()); err != nil && !errors.Is(err, rpctypes.ErrPermissionDenied) {
			return err
		}
		resp, err := cl.MemberList(ctx, opts...)
		if err != nil {
			return err
		}
		out, err = listFrom((*pb.MemberListResponse)(resp))
		out.quorum = linearizable
		return err
	})
	return out, err
}

// ask probes one endpoint: its status, a linearizable list and, in case there
// is no quorum, a local list. The requests are concurrent, because each of them
// may take the whole request timeout.
func (c *Client) ask(ctx context.Context, endpoint string) (p probe) {
	var strong, local memberList
	var strongErr, localErr error
	led, cut := context.WithCancel(ctx)
	defer cut()
	var requests sync.WaitGroup
	requests.Go(func() {
		p = c.askStatus(ctx, endpoint)
		c.cutShort(led, p.status, cut)
	})
	requests.Go(func() { strong, strongErr = c.list(led, endpoint, true) })
	requests.Go(func() { local, localErr = c.list(ctx, endpoint, false) })
	requests.Wait()
	if strongErr == nil {
		p.lists = append(p.lists, strong)
	}
	if localErr == nil {
		p.lists = append(p.lists, local)
	} else if strongErr != nil {
		p.listErr = strongErr
	}
	return p
}

// askStatus requests the status of the server at the endpoint. Learners serve it and
// nothing else, and other requests should not disturb one while it catches up. They do not
// issue tokens: the pool lends this client the token of a voter.
func (c *Client) askStatus(ctx context.Context, endpoint string) probe {
	p := probe{endpoint: endpoint}
	p.err = c.send(ctx, c.settings.WithoutCredentials(), endpoint, c.limit(ctx), func(ctx context.Context, conn *connection.Client) error {
		status, err := conn.Status(ctx, endpoint)
		if err != nil {
			return err
		}
		p.certificate = conn.CertificateEnd()
		if err := checkStatus(status); err != nil {
			return err
		}
		p.status = status
		return nil
	})
	return p
}

// Observe implements [Cluster].
func (c *Client) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	return c.observed(ctx, c.askAll(ctx, want, false), want)
}

// observed makes a snapshot of the probes. The error is a [*connection.Unreachable] if none
// of them has a list.
func (c *Client) observed(ctx context.Context, probes []probe, want membership.ClusterID) (membership.Snapshot, error) {
	before, ok := c.choose(probes, want)
	if !ok {
		gone := &connection.Unreachable{}
		for _, p := range probes {
			gone.Answers = append(gone.Answers, connection.Answer{Endpoint: p.endpoint, Err: cmp.Or(p.listErr, p.err)})
		}
		return membership.Snapshot{}, gone
	}
	c.remember(probes, before.memberList, before.who)
	snap := membership.Snapshot{
		ClusterID: before.cluster,
		Members:   slices.Clone(before.members),
		Answers:   map[membership.MemberID]membership.Answer{},
		Dissent:   before.against,
		Others:    map[membership.ClusterID][]string{},
	}
	for _, p := range probes {
		if id, _ := p.from(); p.status != nil && id != before.cluster {
			snap.Others[id] = append(snap.Others[id], p.endpoint)
		}
	}
	for _, m := range before.members {
		if a, asked := answerOf(m, before.cluster, probes, before.who); asked {
			snap.Answers[m.ID] = a
		}
	}
	if before.confirmed {
		after, err := c.strongList(ctx, before.cluster)
		snap.Linearizable = err == nil && after.same(before.memberList)
	}
	return snap, ctx.Err()
}

// askAll probes the configured endpoints, those that answered before, and, as
// soon as a list arrives, the client URLs of every member in it. If no list
// arrives and a certain cluster is expected, or in any case if always is set, it
// probes the endpoints known from the past.
func (c *Client) askAll(ctx context.Context, want membership.ClusterID, always bool) []probe {
	a, stop := c.asker(ctx)
	defer stop()
	c.mu.Lock()
	past := slices.Clone(c.known)
	c.mu.Unlock()
	first := c.route(0)
	if always {
		first = append(first, past...)
	}
	for _, e := range first {
		a.ask(e, c.ask)
	}
	var out []probe
	listed := false
	for a.pending > 0 {
		p := <-a.answers
		a.pending--
		if p.endpoint == "" {
			continue
		}
		out = append(out, p)
		if err := cmp.Or(p.err, p.listErr); err != nil {
			log.Debug(ctx, log.Connection, "endpoint failed", "endpoint", p.endpoint, "error", err)
		}
		listed = listed || len(p.lists) > 0
		if a.pending == 0 && !listed && want != 0 {
			for _, e := range past {
				a.learn(e, c.ask)
			}
		}
		for _, l := range p.lists {
			a.askMembers(l.members, c.ask, c.askStatus)
		}
	}
	slices.SortFunc(out, func(a, b probe) int { return cmp.Compare(a.endpoint, b.endpoint) })
	return out
}

// remember stores the endpoints at which members and voters themselves
// answered, for later calls.
func (c *Client) remember(probes []probe, l memberList, who owners) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.at)
	c.live, c.leaderless = c.live[:0], true
	for _, p := range probes {
		cluster, id := p.from()
		if p.status == nil || cluster != l.cluster || !who.isOwnAddress(p.endpoint, id) {
			continue
		}
		c.leaderless = c.leaderless && p.status.Leader == 0
		if _, known := c.at[id]; !known {
			c.at[id] = p.endpoint
		}
		if gave, ok := p.strong(); ok && !p.status.IsLearner && gave.same(l) {
			c.live = append(c.live, p.endpoint)
		}
	}
}

// strongList reads a linearizable list of the cluster through any voter.
func (c *Client) strongList(ctx context.Context, cluster membership.ClusterID) (out memberList, err error) {
	err = connection.Try(ctx, c.route(0), func(error) bool { return false }, func(endpoint string) (err error) {
		out, err = c.list(ctx, endpoint, true)
		if err == nil && cluster != 0 && out.cluster != cluster {
			return fmt.Errorf("answers for cluster %s", out.cluster)
		}
		return err
	})
	if err != nil {
		return memberList{}, cmp.Or(ctx.Err(), err)
	}
	return out, nil
}

// Members implements [Cluster].
func (c *Client) Members(ctx context.Context) ([]membership.Member, membership.ClusterID, error) {
	l, err := c.strongList(ctx, 0)
	return l.members, l.cluster, err
}

// Member implements [Cluster].
func (c *Client) Member(ctx context.Context, m membership.Member, cluster membership.ClusterID) membership.Answer {
	var probes []probe
	for _, u := range m.ClientURLs {
		p := c.askStatus(ctx, u)
		probes = append(probes, p)
		if of, id := p.from(); of == cluster && id == m.ID {
			break
		}
	}
	a, _ := answerOf(m, cluster, probes, c.ownersOf([]membership.Member{m}))
	return a
}

// Limits of one observation: the number of endpoints asked concurrently, the number of
// those that only members name, and its duration in request timeouts. The number is
// enough for one address of each member, and a list must not make this process connect
// to many addresses of others.
const (
	maxAtOnce   = 16
	maxLearned  = maxMembers
	maxTimeouts = 4
)

var errTooMany = fmt.Errorf("the members list more than %d addresses", maxLearned)

// asker asks endpoints, each of them once.
type asker struct {
	ctx     context.Context
	slots   chan struct{}
	asked   map[string]bool
	learned int
	pending int
	// answers has one element for each pending endpoint. An element without an
	// endpoint was not asked, because the time was over.
	answers chan probe
}

// asker returns an asker, whose answers must all be received; stop ends its requests.
func (c *Client) asker(ctx context.Context) (a *asker, stop func()) {
	ctx, stop = context.WithTimeout(ctx, maxTimeouts*c.settings.RequestLimit())
	return &asker{ctx: ctx, slots: make(chan struct{}, maxAtOnce), asked: map[string]bool{}, answers: make(chan probe)}, stop
}

// ask asks an endpoint, if it was not asked before.
func (a *asker) ask(endpoint string, f func(context.Context, string) probe) {
	if a.asked[endpoint] {
		return
	}
	a.asked[endpoint] = true
	a.pending++
	go func() {
		var p probe
		select {
		case a.slots <- struct{}{}:
			p = f(a.ctx, endpoint)
			<-a.slots
		case <-a.ctx.Done():
		}
		a.answers <- p
	}()
}

// learn is [asker.ask] for an endpoint that only members name. One beyond the limit
// gets no connection, whatever the credentials are.
func (a *asker) learn(endpoint string, f func(context.Context, string) probe) {
	if a.asked[endpoint] {
		return
	}
	if a.learned++; a.learned > maxLearned {
		f = func(context.Context, string) probe {
			return probe{endpoint: endpoint, err: &connection.Error{Endpoint: endpoint, Kind: connection.NotAsked, Err: errTooMany}}
		}
	}
	a.ask(endpoint, f)
}

// askMembers asks the members of a list at all their addresses, first each of them at
// one.
func (a *asker) askMembers(members []membership.Member, voter, learner func(context.Context, string) probe) {
	for i := range maxURLs {
		for _, m := range members {
			f := voter
			if m.Learner {
				f = learner
			}
			if i < len(m.ClientURLs) {
				a.learn(m.ClientURLs[i], f)
			}
		}
	}
}
