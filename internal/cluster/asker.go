// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
			if urls := askable(m.ClientURLs); i < len(urls) {
				a.learn(urls[i], f)
			}
		}
	}
}
