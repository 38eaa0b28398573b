// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Limits of one observation: the number of endpoints asked concurrently and in
// total, and its duration in request timeouts.
const (
	maxAtOnce    = 16
	maxEndpoints = maxMembers * maxURLs
	maxTimeouts  = 4
)

// asker asks endpoints, each of them once.
type asker struct {
	ctx     context.Context
	over    <-chan struct{}
	slots   chan struct{}
	asked   map[string]bool
	pending int
	// answers has one element for each pending endpoint. An element without an
	// endpoint was not asked, because the time was over.
	answers chan probe
}

// asker returns an asker; stop ends the requests that it has started.
func (c *Client) asker(ctx context.Context) (a *asker, stop func()) {
	limited, cancel := context.WithTimeout(ctx, maxTimeouts*c.settings.RequestLimit())
	over := make(chan struct{})
	a = &asker{ctx: limited, over: over, slots: make(chan struct{}, maxAtOnce), asked: map[string]bool{}, answers: make(chan probe)}
	return a, func() {
		close(over)
		cancel()
	}
}

// ask asks an endpoint, if it was not asked before.
func (a *asker) ask(endpoint string, f func(context.Context, string) probe) {
	if a.asked[endpoint] || len(a.asked) >= maxEndpoints {
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
		select {
		case a.answers <- p:
		case <-a.over:
		}
	}()
}

// askMembers asks the members of a list at all their addresses.
func (a *asker) askMembers(members []membership.Member, voter, learner func(context.Context, string) probe) {
	for _, m := range members {
		f := voter
		if m.Learner {
			f = learner
		}
		for _, u := range askable(m.ClientURLs) {
			a.ask(u, f)
		}
	}
}
