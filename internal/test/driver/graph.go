// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// deposed marks the address of an object whose successor is created before it is destroyed. If
// earlier ones of the same address are left, it has a number after it.
const deposed = " (deposed)"

// current is an address without the mark of a deposed object.
func current(address string) string {
	address, _, _ = strings.Cut(address, " (")
	return address
}

func isDeposed(address string) bool { return current(address) != address }

// block is the block of an address, without the key of an instance.
func block(address string) string {
	address, _, _ = strings.Cut(current(address), "[")
	return address
}

// isOf reports whether something in the state is at an address, or an instance of that block.
func isOf(at, address string) bool {
	return current(at) == address || block(at) == address
}

func typeOf(address string) string {
	typ, _, _ := strings.Cut(address, ".")
	return typ
}

// needs are the blocks that the block of an address depends on, with theirs.
func (p *Plan) needs(address string) (out []string) {
	for todo := []string{block(address)}; len(todo) > 0; todo = todo[1:] {
		var on []string
		for _, r := range p.resources {
			if block(r.Address()) == todo[0] {
				on = append(on, r.After...)
				for _, ref := range append(refs(r.Values), r.ReplacedBy...) {
					on = append(on, ref.Resource)
				}
			}
		}
		for _, address := range on {
			if name := block(address); !slices.Contains(out, name) {
				out, todo = append(out, name), append(todo, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// createsFirst reports whether create_before_destroy holds for a block: it, or something
// that depends on it, has it (ForcedCBDTransformer).
func (p *Plan) createsFirst(address string) bool {
	return slices.ContainsFunc(p.resources, func(r Resource) bool {
		return r.CreateBeforeDestroy && (block(r.Address()) == block(address) || slices.Contains(p.needs(r.Address()), block(address)))
	})
}

// targeted are the nodes that -target leaves: those that it names, and all instances of
// what their blocks depend on (TargetsTransformer). Without -target, all. Of a destruction, it
// leaves all that must be destroyed before.
func (p *Plan) targeted(nodes []*node, opts []Option) []*node {
	var named, needed []string
	for _, o := range opts {
		if address, ok := strings.CutPrefix(string(o), "-target="); ok {
			named, needed = append(named, address), append(needed, p.needs(address)...)
		}
	}
	if named == nil {
		return nodes
	}
	kept := map[*node]bool{}
	var keep func(n *node)
	keep = func(n *node) {
		kept[n] = true
		for i := 0; p.destroys && i < len(n.after); i++ {
			if !kept[n.after[i]] {
				keep(n.after[i])
			}
		}
	}
	for _, n := range nodes {
		is := func(name string) bool { return isOf(n.Address, name) }
		if slices.ContainsFunc(named, is) || slices.Contains(needed, block(n.Address)) {
			keep(n)
		}
	}
	return slices.DeleteFunc(nodes, func(n *node) bool { return !kept[n] })
}

// node is a step of a walk.
type node struct {
	*Change
	destroys bool
	missing  bool // from the configuration, and to be imported
	after    []*node
	state    int
}

const (
	waiting = iota
	running
	done
	failed
)

// planNodes are the steps of a plan: the configuration, then what is only in the state.
func (p *Plan) planNodes() []*node {
	var nodes []*node
	rest := maps.Clone(p.state)
	for _, r := range p.resources {
		nodes = append(nodes, &node{Change: &Change{Address: r.Address(), typ: r.Type, resource: &r}})
		delete(rest, r.Address())
	}
	for _, address := range slices.Sorted(maps.Keys(rest)) {
		nodes = append(nodes, &node{Change: &Change{Address: address, typ: typeOf(address)}})
	}
	for _, n := range nodes {
		n.after = of(nodes, p.needs(n.Address))
	}
	if p.destroys {
		p.orderDestroyers(nodes)
		return nodes
	}
	for _, i := range p.imports {
		if p.cli == OpenTofu || p.importable(i.To) {
			continue
		}
		n := &node{Change: &Change{Address: i.To}, missing: true, after: of(nodes, p.needs(i.To))}
		for _, other := range of(nodes, []string{block(i.To)}) {
			other.after = append(other.after, n)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// orderDestroyers lets each destruction, or its plan, come after those of what depends on it,
// as the state has it.
func (p *Plan) orderDestroyers(destroyers []*node) {
	for _, d := range destroyers {
		for _, on := range of(destroyers, p.stored(d.Address)) {
			on.after = append(on.after, d)
		}
	}
}

// stored are the dependencies that the state has of a resource.
func (p *Plan) stored(address string) []string {
	if o := p.state[address]; o != nil {
		return o.Dependencies
	}
	return nil
}

// of are the nodes of some blocks.
func of(nodes []*node, names []string) (out []*node) {
	for _, n := range nodes {
		if slices.Contains(names, block(n.Address)) {
			out = append(out, n)
		}
	}
	return out
}

// applyNodes are the steps of an apply, with the edges of core's
// DestroyEdgeTransformer, and its CBDEdgeTransformer, which turns some around.
func (p *Plan) applyNodes() []*node {
	var makers, destroyers []*node
	for _, c := range p.Changes {
		if c.Action != remove {
			makers = append(makers, &node{Change: c})
		}
		if c.Action == remove || c.Action == replace {
			destroyers = append(destroyers, &node{Change: c, destroys: true})
		}
		if o := p.state[c.Address]; o != nil {
			c.first = c.resource == nil && o.first || isDeposed(c.Address)
		}
		c.first = c.first || c.resource != nil && p.createsFirst(c.Address)
	}
	for _, n := range makers {
		n.after = of(makers, p.needs(n.Address))
		for _, d := range destroyers {
			related := slices.Contains(p.stored(n.Address), block(d.Address)) ||
				slices.Contains(p.stored(d.Address), block(n.Address))
			switch {
			case n.Address != d.Address && (n.Action == noOp || !related):
			case d.first:
				d.after = append(d.after, n)
			default:
				n.after = append(n.after, d)
			}
		}
	}
	p.orderDestroyers(destroyers)
	return append(makers, destroyers...)
}

// ready is done if all that n depends on is done, or failed.
func (n *node) ready() int {
	all := done
	for _, on := range n.after {
		if on.state == failed {
			return failed
		}
		all = min(all, on.state)
	}
	return all
}

// walk calls do for the nodes, each after those that it depends on, as many at a
// time as allowed, and skips what depends on a failure. do returns false for one.
//
// What nothing orders comes in the worst order: while a machine is destroyed, nothing else
// begins. So a machine whose member does not depend on it in the state goes before its member.
func (p *process) walk(nodes []*node, do func(*node) bool) {
	limit := cmp.Or(p.w.Parallelism, 10)
	ended := make(chan func())
	for busy := 0; ; busy-- {
		for _, n := range next(nodes) {
			if busy == limit || p.ctx.Err() != nil || p.interrupted() {
				break
			}
			n.state = running
			busy++
			go func() {
				state := failed
				if do(n) {
					state = done
				}
				ended <- func() { n.state = state }
			}()
		}
		if busy == 0 {
			waits := func(n *node) bool { return n.state == waiting }
			if p.ctx.Err() == nil && !p.interrupted() && slices.ContainsFunc(nodes, waits) {
				p.fail(noResource, errors.New("a cycle of dependencies"))
			}
			return
		}
		(<-ended)()
	}
}

// next are the nodes that can begin. What depends on a failure fails.
func next(nodes []*node) (out []*node) {
	for again := true; again; {
		again = false
		for _, n := range nodes {
			if n.state == waiting && n.ready() == failed {
				n.state, again = failed, true // those before may depend on it
			}
		}
	}
	machines := false
	for _, n := range nodes {
		is := n.destroys && n.typ == machineType
		begins := n.state == waiting && n.ready() == done
		if is && !machines && (begins || n.state == running) {
			out, machines = nil, true
		}
		if begins && is == machines {
			out = append(out, n)
		}
	}
	return out
}
