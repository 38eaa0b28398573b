// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// blocks is a configuration with the edges of its graph.
type blocks struct {
	resources []*Resource
	after     map[string][]string // direct dependencies of a block
	before    map[string]bool     // create_before_destroy, of its own or because of a dependent
	errs      []error
}

// block is the block of an address or key, without the key of an instance.
func block(address string) string {
	address, _, _ = strings.Cut(address, "[")
	return instance(address)
}

// instance is the address of a key of the state.
func instance(key string) string {
	key, _, _ = strings.Cut(key, " (deposed ")
	return key
}

func newBlocks(resources []Resource) blocks {
	b := blocks{after: map[string][]string{}, before: map[string]bool{}}
	known := map[string]bool{}
	for _, r := range resources {
		address, name := r.Address(), block(r.Address())
		if known[address] {
			b.errs = append(b.errs, fmt.Errorf("%s is there twice", address))
		}
		known[address], known[name] = true, true
		b.resources = append(b.resources, &r)
		for _, ref := range refs(r.Values) {
			b.after[name] = append(b.after[name], block(ref.Resource))
		}
		for _, on := range r.After {
			b.after[name] = append(b.after[name], block(on))
		}
		b.before[name] = b.before[name] || r.CreateBeforeDestroy
	}
	for _, name := range slices.Sorted(maps.Keys(b.before)) {
		for _, on := range b.all(name) {
			b.before[on] = b.before[on] || b.before[name]
			if on == name || !known[on] {
				b.errs = append(b.errs, fmt.Errorf("%s depends on itself, or on a resource that is not in the configuration: %s", name, on))
			}
		}
	}
	return b
}

// all are the dependencies of a block, with theirs, sorted.
func (b blocks) all(name string) []string {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, on := range b.after[name] {
			if !seen[on] {
				seen[on] = true
				visit(on)
			}
		}
	}
	visit(name)
	return slices.Sorted(maps.Keys(seen))
}

// node is a step of a walk.
type node struct {
	*Change
	destroys bool
	after    []*node
	state    int
}

const (
	waiting = iota
	running
	done
	failed
)

// planNodes are the steps of a plan: the configuration, then what is only in the
// state. An instance that a block has lost waits for what the block depends on.
func (p *Plan) planNodes() []*node {
	var nodes []*node
	keys := maps.Clone(p.state)
	for _, r := range p.blocks.resources {
		nodes = append(nodes, &node{Change: &Change{Address: r.Address(), typ: r.Type, resource: r, before: p.blocks.before[block(r.Address())]}})
		delete(keys, r.Address())
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		nodes = append(nodes, &node{Change: &Change{Address: key, typ: keys[key].typ}})
	}
	for _, n := range nodes {
		n.after = of(nodes, p.blocks.after[block(n.Address)])
	}
	return nodes
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
// DestroyEdgeTransformer and CBDEdgeTransformer.
func (p *Plan) applyNodes() []*node {
	var makers, destroyers []*node
	for _, c := range p.Changes {
		if c.Action != remove {
			makers = append(makers, &node{Change: c})
		}
		if c.Action == remove || c.Action == replace {
			destroyers = append(destroyers, &node{Change: c, destroys: true})
		}
	}
	stored := func(n *node) []string {
		if o := p.state[n.Address]; o != nil {
			return o.after
		}
		return nil
	}
	for _, n := range makers {
		n.after = of(makers, p.blocks.after[block(n.Address)])
	}
	for _, d := range destroyers {
		for _, n := range makers {
			own := n.Address == instance(d.Address)
			dependent := slices.Contains(stored(n), block(d.Address))
			dependency := slices.Contains(stored(d), block(n.Address))
			switch {
			case !own && (n.Action == noOp || !dependent && !dependency):
			case d.before:
				d.after = append(d.after, n)
			default:
				n.after = append(n.after, d)
			}
		}
		for _, on := range of(destroyers, stored(d)) {
			on.after = append(on.after, d)
		}
	}
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
func (p *process) walk(nodes []*node, do func(*node) bool) {
	limit := p.w.Parallelism
	if limit == 0 {
		limit = 10
	}
	type outcome struct {
		n  *node
		ok bool
	}
	ended, interrupt := make(chan outcome), p.run.Interrupt
	for busy := 0; ; {
		for i := 0; i < len(nodes); i++ {
			n := nodes[i]
			if n.state != waiting {
				continue
			}
			switch ready := n.ready(); {
			case ready == failed:
				n.state, i = failed, -1 // those before may depend on it
			case ready == done && busy < limit && p.ctx.Err() == nil && !p.interrupted():
				n.state = running
				busy++
				go func() { ended <- outcome{n, do(n)} }()
			}
		}
		if busy == 0 {
			if p.interrupted() {
				p.fail(noResource, errInterrupted)
			}
			return
		}
		select {
		case <-interrupt:
			interrupt = nil
			_, err := p.run.Server.StopProvider(p.ctx, &tfprotov6.StopProviderRequest{})
			p.fail(noResource, err)
		case o := <-ended:
			busy--
			if o.n.state = done; !o.ok {
				o.n.state = failed
			}
		}
	}
}
