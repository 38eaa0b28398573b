// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Apply carries out a plan. It fails if the state has changed since.
func (w *Workspace) Apply(ctx context.Context, start Start, plan *Plan) Result {
	if !w.adopt(plan) {
		return Result{[]Diagnostic{{Address: "provider", Summary: "Saved plan is stale"}}}
	}
	return w.within(ctx, start, plan.provider, plan.blocks, func(p *process) {
		for address, o := range plan.prior {
			p.values[address] = o.Value
		}
		p.walk(plan.applyNodes(), func(n *node) bool {
			switch {
			case n.destroy:
				return p.destroy(n.change)
			case n.change.Action == noOp:
				return true
			}
			return p.make(plan, n.change)
		})
	})
}

// destroy carries out a destruction, or that of a replacement.
func (p *process) destroy(c *Change) bool {
	key := c.Address
	if c.deposed != "" {
		key = c.deposed
	}
	o := p.w.State(key)
	if o == nil {
		return true
	}
	half := *c
	half.After = p.null(c.typ)
	if c.Action == replace {
		half.Action, half.identity = remove, nil
	}
	return p.apply(&half, key, half.After, o, o)
}

// make carries out a creation, an update, or the creation of a replacement. It plans
// again with what is known by now.
func (p *process) make(plan *Plan, c *Change) bool {
	o := p.w.State(c.Address)
	if old := o; c.Action == replace && c.cbd && old != nil {
		for i := 1; c.deposed == "" || p.w.State(c.deposed) != nil; i++ {
			c.deposed = fmt.Sprintf("%s (deposed %d)", c.Address, i)
		}
		p.write(c.deposed, old)
		p.write(c.Address, nil)
		o = nil
		defer func() {
			if p.w.State(c.Address) == nil && c.applied {
				p.write(c.Address, old)
				p.write(c.deposed, nil)
			}
		}()
	}
	again := *c
	if !p.plan(&again, o, false) {
		return false
	}
	if again.Action == create && c.Action == replace {
		again.Action = replace
	}
	problems := compatible(c.After, again.After, "")
	if again.Action != c.Action && (again.Action != noOp || c.Action != update) {
		problems = append(problems, "planned "+c.Action+", and now "+again.Action)
	}
	if !p.find(c.Address, "Provider produced inconsistent final plan", problems) {
		return false
	}
	if again.Action == noOp {
		return true
	}
	if again.Action == replace {
		again.Action, again.Before = create, p.null(c.typ)
	}
	config, err := p.evaluate(c.resource, p.look)
	if err == nil && !config.IsFullyKnown() {
		err = errors.New("configuration contains unknown value")
	}
	if !p.fail(c.Address, err) {
		return false
	}
	c.applied = true
	ok := p.apply(&again, c.Address, config, o, &Object{typ: c.typ, after: plan.blocks.all(block(c.Address)), before: c.cbd})
	if now := p.w.State(c.Address); now != nil {
		p.set(c.Address, now.Value)
	}
	return ok
}

// apply makes the call that carries out a change, and stores the result: like, with
// the value. o is what the state has; without a result it stays.
func (p *process) apply(c *Change, key string, config tftypes.Value, o, like *Object) bool {
	resp, ok := call(p, c.Address, "apply", p.server(c.typ).ApplyResourceChange, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(c.Before), PlannedState: dynamic(c.After), Config: dynamic(config),
		PlannedPrivate: c.private, PlannedIdentity: c.identity,
	})
	if !ok {
		return false
	}
	ok = p.report(c.Address, resp.Diagnostics)
	v, err := p.value(c.typ, resp.NewState)
	if !p.fail(c.Address, err) {
		return false
	}
	if resp.NewState == nil && c.Action != remove {
		v = c.Before
	}
	if !v.IsFullyKnown() {
		ok = p.find(c.Address, invalidResult, []string{"unknown after apply: " + v.String()})
		v, _ = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if !v.IsKnown() {
				return tftypes.NewValue(v.Type(), nil), nil
			}
			return v, nil
		})
	}
	if ok && c.Action == remove && !v.IsNull() {
		ok = p.find(c.Address, invalidResult, []string{"a destruction returns " + v.String()})
	} else if ok && c.Action != remove {
		ok = p.find(c.Address, "Provider produced inconsistent result after apply", compatible(c.After, v, ""))
	}
	if v.IsNull() && !ok {
		return false
	}
	now := *like
	now.Value, now.Private, now.Identity = v, resp.Private, resp.NewIdentity
	now.Tainted = !ok && (c.Action == create || o != nil && o.Tainted)
	p.write(key, &now)
	return ok
}

const invalidResult = "Provider returned invalid result object after apply"

// write stores an object, unless the process has ended.
func (p *process) write(key string, o *Object) {
	if p.ctx.Err() == nil {
		p.w.edit(key, o)
	}
}
