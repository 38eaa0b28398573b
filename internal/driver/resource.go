// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Findings, in core's words.
const (
	invalidObject = "Provider produced invalid object"
	invalidPlan   = "Provider produced invalid plan"
	otherPlan     = "Provider produced inconsistent final plan"
	invalidResult = "Provider returned invalid result object after apply"
	otherResult   = "Provider produced inconsistent result after apply"
)

// refresh reads what the state has of a resource, and returns it. The value is null
// if it is gone; nil means that there was nothing.
func (p *process) refresh(c *Change) (*Object, bool) {
	o := p.object(c.Address)
	if o == nil {
		return nil, true
	}
	resp, ok := call(p, c.Address, "read", p.server(c.typ).ReadResource, &tfprotov6.ReadResourceRequest{
		TypeName: c.typ, CurrentState: dynamic(o.Value), Private: o.Private, CurrentIdentity: o.Identity,
	})
	if !ok || !p.report(c.Address, resp.Diagnostics) {
		return nil, false
	}
	v, ok := p.value(c.Address, c.typ, resp.NewState)
	if !ok || !v.IsFullyKnown() && !p.find(c.Address, invalidObject, "unknown after a refresh") {
		return nil, false
	}
	now := *o
	now.Value, now.Private, now.Identity = v, resp.Private, resp.NewIdentity
	if c.resource != nil {
		now.before = c.before
		now.after = append(p.plan.blocks.all(block(c.Address)), o.after...)
	}
	p.keep(c.Address, &now)
	return &now, true
}

// planNode refreshes and plans a resource.
func (p *process) planNode(c *Change, opts options) bool {
	o := p.object(c.Address)
	if !opts.stale {
		var ok bool
		if o, ok = p.refresh(c); !ok {
			return false
		}
	}
	if c.resource == nil {
		return p.planRemoval(c)
	}
	if !p.planChange(c, o, slices.Contains(opts.replace, c.Address)) {
		return false
	}
	if c.Action == noOp {
		same := *o
		same.before, same.after = c.before, p.plan.blocks.all(block(c.Address))
		p.keep(c.Address, &same)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned[c.Address] = c.After
	return true
}

// planRemoval plans the destruction of what the state has.
func (p *process) planRemoval(c *Change) bool {
	o := p.object(c.Address)
	if o == nil {
		c.Action = ""
		return true
	}
	null := p.null(c.typ)
	c.Action, c.Before, c.After, c.private, c.before = remove, o.Value, null, o.Private, o.before || c.Address != instance(c.Address)
	if !p.destroys && c.typ != machineType {
		return true
	}
	resp, v, ok := p.ask(c, o, null)
	if !ok || !p.report(c.Address, resp.Diagnostics) {
		return false
	}
	c.private, c.identity = resp.PlannedPrivate, resp.PlannedIdentity
	return v.IsNull() || p.find(c.Address, invalidPlan, "a destruction is planned as "+v.String())
}

// planChange plans a resource of the configuration: one call, and for a replacement
// a second one without the prior state.
func (p *process) planChange(c *Change, o *Object, force bool) bool {
	config, ok := p.evaluate(c.resource, p.look)
	if !ok {
		return false
	}
	null := p.null(c.typ)
	prior := &Object{Value: null}
	c.Before = null
	tainted := o != nil && o.Tainted
	if o != nil {
		c.Before = o.Value
	}
	if o != nil && !tainted {
		prior = o
	}
	resp, v, ok := p.ask(c, prior, config)
	if !ok || !p.report(c.Address, resp.Diagnostics) {
		return false
	}
	forced, problems := changed(resp.RequiresReplace, prior.Value, v)
	problems = append(problems, validPlan(p.schema(c.typ).Block.Attributes, prior.Value, config, v, "")...)
	if !p.find(c.Address, invalidPlan, problems...) {
		return false
	}
	switch {
	case tainted:
		c.Action = replace
	case prior.Value.IsNull():
		c.Action = create
	case force || forced:
		c.Action = replace
		resp, v, ok = p.ask(c, &Object{Value: null, Private: resp.PlannedPrivate, Identity: resp.PlannedIdentity}, config)
		// Core drops the warnings of the second call.
		if !ok || slices.ContainsFunc(resp.Diagnostics, isError) && !p.report(c.Address, resp.Diagnostics) {
			return false
		}
	case v.Equal(prior.Value):
		c.Action = noOp
	default:
		c.Action = update
	}
	c.After, c.private, c.identity = v, resp.PlannedPrivate, resp.PlannedIdentity
	return true
}

// ask makes one call of PlanResourceChange.
func (p *process) ask(c *Change, prior *Object, config tftypes.Value) (*tfprotov6.PlanResourceChangeResponse, tftypes.Value, bool) {
	resp, ok := call(p, c.Address, "plan", p.server(c.typ).PlanResourceChange, &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(prior.Value), Config: dynamic(config), PriorPrivate: prior.Private, PriorIdentity: prior.Identity,
		ProposedNewState: dynamic(proposed(p.schema(c.typ).Block.Attributes, prior.Value, config)),
	})
	if !ok {
		return nil, tftypes.Value{}, false
	}
	v, ok := p.value(c.Address, c.typ, resp.PlannedState)
	return resp, v, ok
}

// destroy carries out a destruction, or that of a replacement.
func (p *process) destroy(c *Change) bool {
	key := c.Address
	if c.deposed != "" {
		key = c.deposed
	}
	o := p.object(key)
	if o == nil {
		return true
	}
	half := *c
	half.Action, half.After = remove, p.null(c.typ)
	if c.Action == replace {
		half.identity = nil
	}
	return p.apply(&half, key, half.After, *o)
}

// make carries out a creation, an update, or the creation of a replacement. It plans
// again with what is known by now.
func (p *process) make(c *Change) bool {
	o := p.object(c.Address)
	old := o
	if c.Action == replace && c.before && o != nil {
		for i := 1; c.deposed == "" || p.object(c.deposed) != nil; i++ {
			c.deposed = fmt.Sprintf("%s (deposed %d)", c.Address, i)
		}
		p.keep(c.deposed, o)
		p.keep(c.Address, nil)
		o = nil
	}
	again := *c
	if !p.planChange(&again, o, false) {
		return false
	}
	if c.Action == replace && again.Action == create {
		again.Action = replace
	}
	problems := compatible(c.After, again.After, "")
	if again.Action != c.Action && (again.Action != noOp || c.Action != update) {
		problems = append(problems, "planned to "+c.Action+", and now to "+again.Action)
	}
	if !p.find(c.Address, otherPlan, problems...) {
		return false
	}
	if again.Action == noOp {
		return true
	}
	if again.Action == replace {
		again.Action, again.Before = create, p.null(c.typ)
	}
	config, err := build(p.schema(c.typ).ValueType(), c.resource.Values, p.look)
	if err == nil && !config.IsFullyKnown() {
		err = errors.New("configuration contains unknown value")
	}
	if !p.fail(c.Address, err) {
		return false
	}
	like := Object{typ: c.typ, after: p.plan.blocks.all(block(c.Address)), before: c.before}
	if o != nil {
		like.Tainted = o.Tainted
	}
	ok := p.apply(&again, c.Address, config, like)
	if c.deposed != "" && p.object(c.Address) == nil {
		p.keep(c.Address, old)
		p.keep(c.deposed, nil)
		p.save()
	}
	return ok
}

// apply makes the call that carries out a change, and stores the result: like, with
// what the provider returns. A failure without a value leaves the state as it was.
func (p *process) apply(c *Change, key string, config tftypes.Value, like Object) bool {
	resp, ok := call(p, c.Address, "apply", p.server(c.typ).ApplyResourceChange, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(c.Before), PlannedState: dynamic(c.After), Config: dynamic(config),
		PlannedPrivate: c.private, PlannedIdentity: c.identity,
	})
	if !ok {
		return false
	}
	v, valid := p.value(c.Address, c.typ, resp.NewState)
	ok = p.report(c.Address, resp.Diagnostics) && valid
	if !v.IsFullyKnown() {
		ok = p.find(c.Address, invalidResult, "unknown after apply: "+v.String())
		v, _ = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if !v.IsKnown() {
				return tftypes.NewValue(v.Type(), nil), nil
			}
			return v, nil
		})
	}
	switch {
	case ok && c.Action == remove && !v.IsNull():
		ok = p.find(c.Address, invalidResult, "a destruction returns "+v.String())
	case ok && c.Action != remove:
		ok = p.find(c.Address, otherResult, compatible(c.After, v, "")...)
	}
	if !ok && v.IsNull() {
		return false
	}
	like.Value, like.Private, like.Identity = v, resp.Private, resp.NewIdentity
	like.Tainted = !ok && (like.Tainted || c.Action == create)
	p.keep(key, &like)
	p.save()
	return ok
}
