// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// Chains finds out, while a plan is made, whether the nodes that are to be
// replaced in one apply depend on each other. Whoever replaces several takes
// turns: a member leaves only after the successor of the one before has joined.
// That ends nowhere where Terraform destroys all old members before it creates a
// new one, which is so with for_each; or where it has fewer hands than there are
// members that wait.
//
// Neither can be asked for. But a plan goes through the same graph: so each
// node's rollout is held back until the one before has been planned through to
// its member. With for_each that never happens, because every rollout comes
// before any configuration; with too few hands neither, because those that are
// held back have them all.
type Chains struct {
	Clock clock.Clock

	mu sync.Mutex
	// at is the name that is being planned, "" if none is; seen whether its
	// configuration has been.
	at      string
	seen    bool
	sign    time.Time
	waiting []string
	applied bool
	failed  *Entangled
	change  chan struct{}
}

// Entangled means that the nodes depend on each other.
type Entangled struct {
	// Name is the one that was planned, Waiting those that waited for it.
	Name    string
	Waiting []string
}

// Error implements error.
func (e *Entangled) Error() string {
	return "nothing of " + e.Name + " was planned while others waited"
}

const (
	// toConfig is how long a configuration may take to be planned after its
	// rollout, which is all that stands between.
	toConfig = 10 * time.Second
	// toMember is how long a member may take after that: its machine, and
	// whatever belongs to it, is refreshed first.
	toMember = time.Minute
)

// Applying notes that something is being changed: no plan is being made any
// more, only planned values are computed again, and nothing is to be found out.
func (c *Chains) Applying() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied = true
	c.signal()
}

// IsApplying reports whether [Chains.Applying] was called.
func (c *Chains) IsApplying() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// Enter is called with each name that is to be replaced in turn, when its
// rollout is planned; it returns when the one before has been planned to its
// end. The error is [*Entangled], or ctx's.
func (c *Chains) Enter(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.applied {
		return nil
	}
	c.waiting = append(c.waiting, name)
	for c.failed == nil && !c.applied && c.at != "" && c.at != name {
		limit := toConfig
		if c.seen {
			limit = toMember
		}
		left := limit - c.Clock.Now().Sub(c.sign)
		if left <= 0 {
			c.failed = &Entangled{Name: c.at, Waiting: slices.Sorted(slices.Values(c.waiting))}
			c.signal()
			break
		}
		if err := c.wait(ctx, left); err != nil {
			return err
		}
	}
	if c.failed != nil {
		return c.failed
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(w string) bool { return w == name })
	c.at, c.seen, c.sign = name, false, c.Clock.Now()
	return nil
}

// wait lets go of the mutex until something changes, at most for d.
func (c *Chains) wait(ctx context.Context, d time.Duration) error {
	if c.change == nil {
		c.change = make(chan struct{})
	}
	change := c.change
	c.mu.Unlock()
	defer c.mu.Lock()
	slept, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-change:
			cancel()
		case <-slept.Done():
		}
	}()
	_ = c.Clock.Sleep(slept, d)
	return ctx.Err()
}

func (c *Chains) signal() {
	if c.change != nil {
		close(c.change)
		c.change = nil
	}
}

// Config notes that the configuration of that name is being planned.
func (c *Chains) Config(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == c.at {
		c.seen, c.sign = true, c.Clock.Now()
		c.signal()
	}
}

// Member notes that the member of that name has been planned: its chain ends.
func (c *Chains) Member(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == c.at {
		c.at = ""
		c.signal()
	}
}
