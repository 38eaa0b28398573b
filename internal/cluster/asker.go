// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Bounds of one look at a cluster: how many endpoints are asked at a time, and in
// all, and how long it takes, in request timeouts.
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
	// answers has one for each that is pending; one without an endpoint was not
	// asked, because the time was over.
	answers chan probe
}

// asker returns an asker; stop ends what it has begun.
func (c *Client) asker(ctx context.Context) (a *asker, stop func()) {
	limited, cancel := context.WithTimeout(ctx, maxTimeouts*c.settings.RequestLimit())
	over := make(chan struct{})
	a = &asker{ctx: limited, over: over, slots: make(chan struct{}, maxAtOnce), asked: map[string]bool{}, answers: make(chan probe)}
	return a, func() {
		close(over)
		cancel()
	}
}

// ask has an endpoint asked, if it was not.
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

// askMembers has the members of a list asked, at all their addresses.
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
