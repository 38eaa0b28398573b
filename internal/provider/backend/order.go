// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// PlanOrder detects, while a plan is made, whether the nodes that are to be replaced in
// one apply depend on each other. In such an apply the members take turns: a member is
// removed only after the successor of the previous member has joined. That never ends
// if Terraform destroys all old members before it creates a new member, as with
// for_each, or if -parallelism is below the number of members that wait.
//
// Terraform does not expose either fact. But a plan walks the same graph, so the
// rollout of each node is held back until the previous node has been planned up to its
// member. With for_each that never happens, because every rollout precedes any
// configuration. It also never happens if -parallelism is too low, because Terraform
// has only started the resources that are held back. The zero value is ready to use.
type PlanOrder struct {
	// Clock is the time. nil means the real time.
	Clock clock.Clock

	mu sync.Mutex
	// changed is signalled when any field below changes.
	changed sync.Cond
	// current is the name that is being planned, "" if there is none.
	// configured reports whether its configuration has been planned.
	current    string
	configured bool
	// progress is the time at which this provider last began to read or plan a resource.
	progress time.Time
	waiting  []string
	applying bool
	failed   *NodesDependOnEachOther
}

// NodesDependOnEachOther means that nodes cannot be replaced in one apply: a
// resource of one node was not planned while the rollouts of others were held back.
type NodesDependOnEachOther struct {
	// Resource is the type of that resource, Name the name of the node.
	Resource, Name string
	Waiting        []string
}

// Error implements error.
func (e *NodesDependOnEachOther) Error() string {
	return "the " + e.Resource + " of " + e.Name + " was not planned while others waited"
}

const (
	// configLimit is the longest time without progress before the configuration
	// is planned. It follows its rollout as soon as Terraform can start it.
	configLimit = 30 * time.Second
	// memberLimit is the same for the member, which follows its machine. Another
	// provider manages the machine, so this process does not see its refresh.
	memberLimit = 10 * time.Minute
)

// progressed notes that this provider begins to read or plan a resource.
func (o *PlanOrder) progressed() { o.note(func() {}) }

// StartApply notes that a change begins. From then on Terraform does not make a
// plan, it only recomputes planned values, so there is nothing to detect.
func (o *PlanOrder) StartApply() { o.note(func() { o.applying = true }) }

// Config notes that the configuration of that name is being planned.
func (o *PlanOrder) Config(name string) {
	o.note(func() { o.configured = o.configured || name == o.current })
}

// Member notes that the member of that name, and so its node, has been planned.
func (o *PlanOrder) Member(name string) {
	o.note(func() {
		if name == o.current {
			o.current = ""
		}
	})
}

func (o *PlanOrder) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress = o.now()
	change()
	o.changed.Broadcast()
}

// IsApplying reports whether [PlanOrder.StartApply] was called.
func (o *PlanOrder) IsApplying() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.applying
}

// Enter is called when the rollout of a name that is to be replaced in turn is
// planned. It returns when the previous name has been planned completely. The
// error is [*NodesDependOnEachOther], or that of ctx.
func (o *PlanOrder) Enter(ctx context.Context, name string) error {
	defer context.AfterFunc(ctx, o.wake)()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed.L = &o.mu
	o.waiting = append(o.waiting, name)
	if o.holdsBack(name) {
		log.Debug(ctx, log.Membership, "rollout held back in the plan", "member", name, "behind", o.current)
	}
	for o.failed == nil && o.holdsBack(name) {
		if err := ctx.Err(); err != nil {
			return err
		}
		resource, limit := "etcd_member_config", configLimit
		if o.configured {
			resource, limit = "etcd_member", memberLimit
		}
		left := limit - o.now().Sub(o.progress)
		if left <= 0 {
			o.failed = &NodesDependOnEachOther{Resource: resource, Name: o.current, Waiting: slices.Sorted(slices.Values(o.waiting))}
			o.changed.Broadcast()
			break
		}
		o.wait(ctx, left)
	}
	if o.failed != nil && !o.applying {
		log.Debug(ctx, log.Membership, "rollout refused", "member", name, "not planned", o.failed.Resource+" of "+o.failed.Name)
		return o.failed
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(w string) bool { return w == name })
	o.current, o.configured, o.progress = name, false, o.now()
	return nil
}

// wait returns when something changes, and after limit. o.mu must be held; wait
// releases it in between.
func (o *PlanOrder) wait(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if clock.Or(o.Clock).Sleep(ctx, limit) == nil {
			o.wake()
		}
	}()
	o.changed.Wait()
}

func (o *PlanOrder) now() time.Time { return clock.Or(o.Clock).Now() }

// holdsBack reports whether another node is being planned.
func (o *PlanOrder) holdsBack(name string) bool {
	return !o.applying && o.current != "" && o.current != name
}

func (o *PlanOrder) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed.Broadcast()
}
