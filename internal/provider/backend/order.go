// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// PlanOrder finds out, while a plan is made, whether the nodes that are to be
// replaced in one apply depend on each other. Whoever replaces several takes
// turns: a member leaves only after the successor of the one before has joined.
// That ends nowhere where Terraform destroys all old members before it creates a
// new one, which is so with for_each; or where -parallelism is below the number of
// members that wait.
//
// Neither can be asked for. But a plan goes through the same graph: so each
// node's rollout is held back until the one before has been planned through to
// its member. With for_each that never happens, because every rollout comes
// before any configuration; with too low a -parallelism neither, because those
// that are held back are all that Terraform has begun. The zero value is ready.
type PlanOrder struct {
	mu sync.Mutex
	// changed is signalled whenever something below has changed.
	changed sync.Cond
	// current is the name that is being planned, "" if none is; configured
	// whether its configuration has been.
	current    string
	configured bool
	// progress is when this provider last began to read or to plan a resource.
	progress time.Time
	waiting  []string
	applying bool
	failed   *NodesDependOnEachOther
}

// NodesDependOnEachOther means that nodes cannot be replaced in one apply: a
// resource of one was not planned while the rollouts of others were held back.
type NodesDependOnEachOther struct {
	// Resource is the type of that resource, Name the node's name.
	Resource, Name string
	Waiting        []string
}

// Error implements error.
func (e *NodesDependOnEachOther) Error() string {
	return "the " + e.Resource + " of " + e.Name + " was not planned while others waited"
}

const (
	// configLimit is how long nothing may happen before the configuration is
	// planned: it follows on its rollout as soon as Terraform may begin with it.
	configLimit = 30 * time.Second
	// memberLimit is the same for the member, which follows on its machine. That
	// is another provider's, so this process does not see it being refreshed.
	memberLimit = 10 * time.Minute
)

// progressed notes that this provider begins to read or to plan a resource.
func (o *PlanOrder) progressed() { o.note(func() {}) }

// StartApply notes that something is being changed: no plan is being made any
// more, only planned values are computed again, and nothing is to be found out.
func (o *PlanOrder) StartApply() { o.note(func() { o.applying = true }) }

// Config notes that the configuration of that name is being planned.
func (o *PlanOrder) Config(name string) {
	o.note(func() { o.configured = o.configured || name == o.current })
}

// Member notes that the member of that name has been planned: its node is done.
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
	o.progress = time.Now()
	change()
	o.changed.Broadcast()
}

// IsApplying reports whether [PlanOrder.StartApply] was called.
func (o *PlanOrder) IsApplying() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.applying
}

// Enter is called with each name that is to be replaced in turn, when its
// rollout is planned; it returns when the one before has been planned to its
// end. The error is [*NodesDependOnEachOther], or ctx's.
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
		left := limit - time.Since(o.progress)
		if left <= 0 {
			o.failed = &NodesDependOnEachOther{Resource: resource, Name: o.current, Waiting: slices.Sorted(slices.Values(o.waiting))}
			o.changed.Broadcast()
			break
		}
		timer := time.AfterFunc(left, o.wake)
		o.changed.Wait()
		timer.Stop()
	}
	if o.failed != nil && !o.applying {
		log.Debug(ctx, log.Membership, "rollout refused", "member", name, "not planned", o.failed.Resource+" of "+o.failed.Name)
		return o.failed
	}
	o.waiting = slices.DeleteFunc(o.waiting, func(w string) bool { return w == name })
	o.current, o.configured, o.progress = name, false, time.Now()
	return nil
}

// holdsBack reports whether another node is being planned.
func (o *PlanOrder) holdsBack(name string) bool {
	return !o.applying && o.current != "" && o.current != name
}

func (o *PlanOrder) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed.Broadcast()
}
