// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"errors"
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
	instances map[string]bool
	cbd       map[string]bool // with those that a dependent forces
}

func newBlocks(resources []Resource) blocks {
	b := blocks{after: map[string][]string{}, instances: map[string]bool{}, cbd: map[string]bool{}}
	for _, r := range resources {
		b.resources = append(b.resources, &r)
		b.instances[r.Address()] = true
		name := block(r.Address())
		on := b.after[name]
		for _, ref := range refs(r.Values) {
			on = append(on, block(ref.Resource))
		}
		for _, address := range r.After {
			on = append(on, block(address))
		}
		slices.Sort(on)
		b.after[name] = slices.Compact(on)
		b.cbd[name] = b.cbd[name] || r.CreateBeforeDestroy
	}
	for name := range b.after {
		if b.cbd[name] {
			for _, on := range b.all(name) {
				b.cbd[on] = true
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

func (b blocks) check(p *process) (ok bool) {
	ok = true
	for _, r := range b.resources {
		name := block(r.Address())
		for _, on := range b.all(name) {
			if on == name {
				ok = p.fail(r.Address(), fmt.Errorf("a cycle through %s", name))
			}
		}
		for _, ref := range refs(r.Values) {
			if !b.instances[ref.Resource] {
				ok = p.fail(r.Address(), fmt.Errorf("reference to %s, which is not in the configuration", ref.Resource))
			}
		}
	}
	return ok
}

// node is a step of a walk.
type node struct {
	change  *Change
	destroy bool
	after   []*node
	state   int
}

const (
	waiting = iota
	running
	done
	failed
)

// ready is done if all that n depends on is done, or failed.
func (n *node) ready() int {
	all := done
	for _, on := range n.after {
		switch on.state {
		case failed:
			return failed
		case waiting, running:
			all = waiting
		}
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
		n     *node
		state int
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
			case ready == done && busy < limit && p.ctx.Err() == nil && !p.stopped.Load():
				n.state = running
				busy++
				go func() {
					if do(n) {
						ended <- outcome{n, done}
					} else {
						ended <- outcome{n, failed}
					}
				}()
			}
		}
		if busy == 0 {
			return
		}
		select {
		case o := <-ended:
			o.n.state = o.state
			busy--
		case <-interrupt:
			interrupt = nil
			p.stopped.Store(true)
			_, err := p.run.Server.StopProvider(p.ctx, &tfprotov6.StopProviderRequest{})
			p.fail("provider", errors.Join(errInterrupted, err))
		}
	}
}

// planNodes are the steps of a plan: the configuration, then what is only in the
// state. Instances that a block has lost wait for what the block depends on.
func (b blocks) planNodes(state map[string]*Object) []*node {
	var nodes []*node
	for _, r := range b.resources {
		nodes = append(nodes, &node{change: &Change{Address: r.Address(), typ: r.Type, resource: r, cbd: b.cbd[block(r.Address())]}})
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if !b.instances[key] {
			nodes = append(nodes, &node{change: &Change{Address: key, typ: state[key].typ, cbd: state[key].before}})
		}
	}
	for _, n := range nodes {
		for _, m := range nodes {
			if slices.Contains(b.after[block(n.change.Address)], block(m.change.Address)) {
				n.after = append(n.after, m)
			}
		}
	}
	return nodes
}

// applyNodes are the steps of an apply, with the edges of core's
// DestroyEdgeTransformer and CBDEdgeTransformer.
func (p *Plan) applyNodes() []*node {
	var makers, removers []*node
	for _, c := range p.Changes {
		if c.Action != remove {
			makers = append(makers, &node{change: c})
		}
		if c.Action == remove || c.Action == replace {
			removers = append(removers, &node{change: c, destroy: true})
		}
	}
	of := func(nodes []*node, names []string) (out []*node) {
		for _, n := range nodes {
			if slices.Contains(names, block(n.change.Address)) {
				out = append(out, n)
			}
		}
		return out
	}
	stored := func(n *node) []string {
		if o := p.prior[n.change.Address]; o != nil {
			return o.after
		}
		return nil
	}
	acting := slices.DeleteFunc(slices.Clone(makers), func(n *node) bool { return n.change.Action == noOp })
	for _, n := range makers {
		n.after = of(makers, p.blocks.after[block(n.change.Address)])
	}
	// Edges from what is made to what is destroyed.
	connect := func(maker, remover *node) {
		if remover.change.cbd {
			remover.after = append(remover.after, maker)
		} else {
			maker.after = append(maker.after, remover)
		}
	}
	for _, d := range removers {
		own, _, _ := strings.Cut(d.change.Address, " ")
		for _, n := range makers {
			if n.change.Address == own {
				connect(n, d)
			}
		}
		for _, n := range acting {
			if slices.Contains(stored(n), block(own)) || slices.Contains(stored(d), block(n.change.Address)) {
				connect(n, d)
			}
		}
		for _, on := range of(removers, stored(d)) {
			on.after = append(on.after, d)
		}
	}
	return append(makers, removers...)
}
