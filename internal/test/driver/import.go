// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Import is terraform import. Terraform plans, and drops, the destruction of instances that the
// configuration of their block does not have any more: if that is refused, so is the import.
func (w *Workspace) Import(ctx context.Context, start Start, address, id string) Result {
	plan := w.newPlan()
	plan.imports = nil
	return w.within(ctx, start, plan, func(p *process) {
		if p.object(address) != nil {
			p.refuse(address, "Resource already managed by Terraform: it is in the state")
			return
		}
		if !plan.importable(address) {
			p.refuse(address, notConfigured)
			return
		}
		p.walk(plan.planNodes(), func(n *node) bool {
			ok := true
			switch {
			case n.Address == address:
				_, ok = p.imports(n.Change, id)
			case n.resource == nil && !plan.configures(block(n.Address)): // it is not read
			case n.resource == nil && w.CLI != OpenTofu:
				ok = p.planOrphan(n.Change, false)
			default:
				_, ok = p.current(n.Address, n.typ)
			}
			return ok
		})
		if (Result{p.diags}).Err() == nil {
			p.save()
		}
	})
}

// configures reports whether the configuration has a block.
func (p *Plan) configures(name string) bool {
	return slices.ContainsFunc(p.resources, func(r Resource) bool { return block(r.Address()) == name })
}

// importable reports whether the configuration has what is to be imported, or the state.
func (p *Plan) importable(address string) bool {
	has := func(r Resource) bool { return r.Address() == address }
	return p.state[address] != nil || slices.ContainsFunc(p.resources, has)
}

const notConfigured = "Configuration for import target does not exist"

// importID is the ID in the import block of an address, "" without one.
func (p *Plan) importID(address string) string {
	if p.refreshes {
		return ""
	}
	for _, i := range p.imports {
		if i.To == address {
			return i.ID
		}
	}
	return ""
}

// imports imports an object, and reads it. It has no dependencies then.
func (p *process) imports(c *Change, id string) (*Object, bool) {
	resp, ok := call(p, c.Address, "import", p.server(c.typ).ImportResourceState,
		&tfprotov6.ImportResourceStateRequest{TypeName: c.typ, ID: id})
	if !ok || !p.report(c.Address, resp.Diagnostics) || len(resp.ImportedResources) != 1 {
		return nil, false
	}
	it := resp.ImportedResources[0]
	v, ok := p.value(c.Address, c.typ, it.State)
	if !ok {
		return nil, false
	}
	o, ok := p.read(c, &Object{Value: v, Private: it.Private, Identity: it.Identity})
	if ok && o.Value.IsNull() {
		ok = p.refuse(c.Address, "Cannot import non-existent remote object")
	}
	return o, ok
}

// refuseImports is what OpenTofu reports after a plan if import blocks are for what is not
// configured: that alone.
func (p *process) refuseImports() {
	before := len(p.diags)
	for _, i := range p.plan.imports {
		if !p.plan.importable(i.To) {
			p.refuse(i.To, notConfigured)
		}
	}
	if len(p.diags) > before {
		p.diags = p.diags[before:]
	}
}
