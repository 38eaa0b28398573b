// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// current returns what the state has of a resource after the call with which core reads
// it, at plan and at apply, also of a tainted object and with -refresh=false. nil means
// that there is nothing.
func (p *process) current(address, typ string) (*Object, bool) {
	o := p.object(address)
	if o == nil || typ == machineType {
		return o, true
	}
	if p.schema(typ) == nil {
		return nil, p.fail(address, errors.New("no resource type "+typ))
	}
	resp, ok := call(p, address, "upgrade", p.server(typ).UpgradeResourceState, &tfprotov6.UpgradeResourceStateRequest{
		TypeName: typ, Version: p.schema(typ).Version, RawState: &tfprotov6.RawState{JSON: encode(o.Value)},
	})
	if !ok || !p.report(address, resp.Diagnostics) {
		return nil, false
	}
	now := *o
	now.Value, ok = p.value(address, typ, resp.UpgradedState)
	return &now, ok
}

// refresh reads what the state has of a resource, and returns it. The value is null
// if it is gone; nil means that there was nothing. It stores what the configuration of the
// resource depends on, beside what is stored. Without a configuration that stays as it is.
func (p *process) refresh(c *Change) (*Object, bool) {
	o, ok := p.current(c.Address, c.typ)
	if o == nil || !ok {
		return nil, ok
	}
	if o, ok = p.read(c, o); ok && c.resource != nil {
		o = p.relate(c, o, o.Dependencies)
	}
	return o, ok
}

// read reads an object, which the state gets.
func (p *process) read(c *Change, o *Object) (*Object, bool) {
	resp, ok := call(p, c.Address, "read", p.server(c.typ).ReadResource, &tfprotov6.ReadResourceRequest{
		TypeName: c.typ, CurrentState: dynamic(o.Value), Private: o.Private, CurrentIdentity: o.Identity,
	})
	if !ok || !p.report(c.Address, resp.Diagnostics) {
		return nil, false
	}
	v, ok := p.value(c.Address, c.typ, resp.NewState)
	if !ok {
		return nil, false
	}
	now := *o
	now.Value, now.Private, now.Identity = v, resp.Private, resp.NewIdentity
	p.keep(c.Address, &now)
	return &now, true
}

// relate stores what the configuration of a resource depends on, and more.
func (p *process) relate(c *Change, o *Object, more []string) *Object {
	now := *o
	all := append(p.plan.needs(c.Address), more...)
	slices.Sort(all)
	now.Dependencies, now.first = slices.Compact(all), p.plan.createsFirst(c.Address)
	p.keep(c.Address, &now)
	return &now
}

// planNode refreshes or imports a resource, and plans it.
func (p *process) planNode(c *Change, opts []Option) bool {
	refreshes := !slices.Contains(opts, NoRefresh)
	if c.resource == nil {
		return p.planOrphan(c, refreshes)
	}
	var o *Object
	var ok bool
	if id := p.plan.importID(c.Address); id != "" && p.object(c.Address) == nil {
		c.Imports = true
		o, ok = p.imports(c, id)
	} else if refreshes {
		o, ok = p.refresh(c)
	} else {
		o, ok = p.current(c.Address, c.typ)
	}
	if !ok {
		return false
	}
	force := slices.Contains(opts, Replace(c.Address)) || slices.ContainsFunc(c.resource.ReplacedBy, p.triggers)
	if !p.planChange(c, o, force) {
		return false
	}
	p.locked(func() { p.planned[c.Address] = c })
	if c.Action == noOp && o != nil { // no apply stores it
		p.relate(c, o, nil)
	}
	return true
}

// planOrphan refreshes what the configuration does not have, and plans to destroy it. It may be
// gone. Terraform makes that plan for apply -refresh-only, too, and drops it.
func (p *process) planOrphan(c *Change, refreshes bool) bool {
	o, ok := p.current(c.Address, c.typ)
	if o == nil || !ok {
		return ok
	}
	early := p.w.CLI == Terraform111 && !isDeposed(c.Address)
	if early && !p.planRemoval(c, o) {
		return false
	}
	if refreshes {
		if o, ok = p.read(c, o); !ok {
			return false
		}
	}
	if o.Value.IsNull() {
		c.Action = ""
		return true
	}
	return early || p.planRemoval(c, o)
}

// triggers reports whether a change that is planned is one for replace_triggered_by.
func (p *process) triggers(r Ref) (is bool) {
	p.locked(func() {
		c, path := p.planned[r.Resource], strings.Split(r.Attribute, ".")
		switch {
		case c == nil:
		case r.Attribute == "":
			is = c.Action == update || c.Action == replace
		default:
			is = !at(c.Before, path).Equal(at(c.After, path))
		}
	})
	return is
}

// planRemoval plans the destruction of what the state has.
func (p *process) planRemoval(c *Change, o *Object) bool {
	null := p.null(c.typ)
	c.Action, c.Before, c.After = remove, o.Value, null
	return p.ask(c, o, null, true) && (c.After.IsNull() || p.find(c.Address, "Provider produced invalid plan", c.After.String()))
}

// planChange plans a resource of the configuration: one call, and for a replacement
// a second one without the prior state.
func (p *process) planChange(c *Change, o *Object, force bool) bool {
	config, ok := p.evaluate(*c.resource, p.look)
	if !ok {
		return false
	}
	prior, tainted := &Object{Value: p.null(c.typ)}, o != nil && o.Tainted && !o.Value.IsNull()
	if c.Before = prior.Value; o != nil {
		c.Before = o.Value
	}
	if o != nil && !tainted {
		prior = o
	}
	if !p.ask(c, prior, config, true) {
		return false
	}
	switch {
	case tainted:
		c.Action = replace
	case prior.Value.IsNull():
		c.Action = create
	case force || c.replaces:
		c.Action = replace
		return p.ask(c, &Object{Value: p.null(c.typ), Private: c.private, Identity: c.identity}, config, false)
	case c.After.Equal(prior.Value):
		c.Action = noOp
	default:
		c.Action = update
	}
	return true
}

// ask makes one call of PlanResourceChange. Core drops the warnings of the second one
// of a replacement.
func (p *process) ask(c *Change, prior *Object, config tftypes.Value, warn bool) bool {
	resp, ok := call(p, c.Address, "plan", p.server(c.typ).PlanResourceChange, &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(prior.Value), Config: dynamic(config), PriorPrivate: prior.Private, PriorIdentity: prior.Identity,
		ProposedNewState: dynamic(proposed(p.schema(c.typ).Block.Attributes, prior.Value, config)),
	})
	if !ok || (warn || slices.ContainsFunc(resp.Diagnostics, isError)) && !p.report(c.Address, resp.Diagnostics) {
		return false
	}
	c.After, ok = p.value(c.Address, c.typ, resp.PlannedState)
	c.private, c.identity, c.replaces = resp.PlannedPrivate, resp.PlannedIdentity, len(resp.RequiresReplace) > 0
	if ok && !config.IsNull() {
		if problem := unasked(p.schema(c.typ).Block.Attributes, prior.Value, config, c.After, ""); problem != "" {
			ok = p.find(c.Address, "Provider produced invalid plan", problem)
		}
	}
	return ok
}

// move gives an object in the state another address.
func (p *process) move(from, to string) {
	p.locked(func() { p.state[to] = p.state[from]; delete(p.state, from) })
}

// destroy carries out a destruction, or that of a replacement.
func (p *process) destroy(c *Change) bool {
	address := c.Address
	if c.first && c.Action == replace {
		address = c.deposed
	}
	o, ok := p.current(address, c.typ)
	if o == nil || !ok {
		return ok
	}
	half := *c
	half.Address = address
	if address != c.Address {
		return p.planRemoval(&half, o) && p.apply(&half, half.After, *o)
	}
	half.Action, half.After = remove, p.null(c.typ)
	if c.Action == replace {
		half.identity = nil
	}
	return p.apply(&half, half.After, *o)
}

// make carries out a creation, an update, or the creation of a replacement. It plans
// again with what is known by now.
func (p *process) make(c *Change) bool {
	o, ok := p.current(c.Address, c.typ)
	if !ok {
		return false
	}
	if o != nil && c.first && c.Action == replace {
		old := p.object(c.Address)
		c.deposed = c.Address + deposed
		for n := 2; p.object(c.deposed) != nil; n++ {
			c.deposed = fmt.Sprintf("%s%s %d", c.Address, deposed, n)
		}
		p.move(c.Address, c.deposed)
		defer func() {
			if p.object(c.Address) == nil && p.object(c.deposed) == old { // nothing came of it
				p.move(c.deposed, c.Address)
				p.saveOne()
			}
		}()
		o = nil
	}
	again := *c
	if !p.planChange(&again, o, false) {
		return false
	}
	problem := incompatible(c.After, again.After, "")
	same := again.Action == c.Action || c.Action == update && again.Action == noOp || c.Action == replace && again.Action == create
	if problem == "" && !same {
		problem = "planned to " + c.Action + ", and now to " + again.Action
	}
	if problem != "" {
		return p.find(c.Address, "Provider produced inconsistent final plan", problem)
	}
	if again.Action == noOp {
		return true
	}
	config, err := build(p.schema(c.typ).ValueType(), c.resource.Values, p.look)
	if err == nil && !config.IsFullyKnown() {
		err = errors.New("configuration contains unknown value")
	}
	made := p.fail(c.Address, err) && p.apply(&again, config, Object{
		Dependencies: p.plan.needs(c.Address), first: c.first, Tainted: o != nil && o.Tainted,
	})
	return made && (again.Action != create || p.provision(c.Address))
}

// provision runs the provisioners of a resource that was created.
func (p *process) provision(address string) bool {
	if !p.w.Failing[address] {
		return true
	}
	o := *p.object(address)
	o.Tainted = true
	p.keep(address, &o)
	p.saveOne()
	return p.refuse(address, "local-exec provisioner error")
}

// apply makes the call that carries out a change, and stores the result: like, with
// what the provider returns. A failure without a value leaves the state as it was.
func (p *process) apply(c *Change, config tftypes.Value, like Object) bool {
	resp, ok := call(p, c.Address, "apply", p.server(c.typ).ApplyResourceChange, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(c.Before), PlannedState: dynamic(c.After), Config: dynamic(config),
		PlannedPrivate: c.private, PlannedIdentity: c.identity,
	})
	if !ok {
		return false
	}
	v, valid := p.value(c.Address, c.typ, resp.NewState)
	ok = p.report(c.Address, resp.Diagnostics) && valid
	problem := incompatible(c.After, v, "")
	if !v.IsFullyKnown() {
		problem = "unknown after apply: " + v.String()
		v, _ = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if !v.IsKnown() {
				v = tftypes.NewValue(v.Type(), nil)
			}
			return v, nil
		})
	}
	if ok && problem != "" {
		ok = p.find(c.Address, "Provider produced inconsistent result after apply", problem)
	}
	if !ok && v.IsNull() {
		return false
	}
	like.Value, like.Private, like.Identity = v, resp.Private, resp.NewIdentity
	like.Tainted = !ok && (like.Tainted || c.Action == create)
	p.keep(c.Address, &like)
	p.saveOne()
	return ok
}
