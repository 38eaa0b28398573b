// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"sort"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// listFraction is the divisor of the request timeout that gives the time a Look
// waits for its list. After that time there is no quorum or no endpoint
// answers, and an Observe is needed.
const listFraction = 5

// Look implements [Cluster].
func (c *Client) Look(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	if snap, ok := c.look(ctx, want); ok || ctx.Err() != nil {
		return snap, ctx.Err()
	}
	return c.Observe(ctx, want)
}

// look asks every endpoint for its status and every voter for a linearizable
// read, and the first voter that gives both for the member list. It returns
// false as soon as the answers are not those of a cluster with a quorum: no
// list in time, or endpoints that answer for another cluster.
func (c *Client) look(parent context.Context, want membership.ClusterID) (membership.Snapshot, bool) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel() // ends the remaining calls
	ask, stop := c.asker(ctx)
	defer stop()
	lists := make(chan memberList)
	for _, e := range c.route(0) {
		ask.ask(e, c.askRead)
	}
	late := c.after(ctx, c.settings.RequestLimit()/listFraction)

	var out []probe
	var list memberList
	listing := false
	for ask.pending > 0 || list.cluster == 0 {
		select {
		case p := <-ask.answers:
			ask.pending--
			if p.endpoint == "" {
				continue // the time was over
			}
			out = append(out, p)
			p.log(ctx)
			if p.status != nil {
				id := membership.ClusterID(p.status.Header.ClusterId)
				if want == 0 {
					want = id
				}
				if id != want {
					return membership.Snapshot{}, false
				}
			}
			if !listing && p.status != nil && p.readOK && !p.status.IsLearner {
				listing = true
				go c.listTo(ctx, p.endpoint, lists)
			}
			if ask.pending == 0 && !listing {
				return membership.Snapshot{}, false // all have answered, but no healthy voter
			}
		case list = <-lists:
			if list.cluster != want {
				return membership.Snapshot{}, false // 0 after an error
			}
			ask.askMembers(list.members, c.askRead, c.askStatus)
		case <-late:
			if list.cluster == 0 {
				return membership.Snapshot{}, false
			}
			late = nil
		case <-ctx.Done():
			return membership.Snapshot{}, false
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].endpoint < out[j].endpoint })
	who := c.ownersOf(list.members)
	c.remember(out, list, who)
	return snapshotOf(list, out, who), true
}

// after returns a channel that is closed after d, unless ctx ends before.
func (c *Client) after(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		if c.settings.Time().Sleep(ctx, d) == nil {
			close(over)
		}
	}()
	return over
}

// listTo sends the list of a member that has just served a linearizable read,
// or an empty list after an error. That read brings the list up to date where
// the list alone would be stale (before 3.5, etcd-io/etcd#18929).
func (c *Client) listTo(ctx context.Context, endpoint string, lists chan<- memberList) {
	var l memberList
	_ = c.call(ctx, endpoint, func(ctx context.Context, cl *clientv3.Client) (err error) {
		l, err = listOnce(ctx, cl, true)
		return err
	})
	select {
	case lists <- l:
	case <-ctx.Done():
	}
}

// askRead probes an endpoint without requesting a list: it requests its status
// and a linearizable read, concurrently.
func (c *Client) askRead(ctx context.Context, endpoint string) probe {
	p := probe{endpoint: endpoint}
	led, cut := context.WithCancel(ctx)
	defer cut()
	read := make(chan error, 1)
	go func() { read <- c.call(led, endpoint, readOnce) }()
	p.status, p.err = c.status(ctx, endpoint)
	c.cutShort(led, p.status, cut)
	p.readOK = <-read == nil
	return p
}
