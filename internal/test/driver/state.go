// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"maps"
	"slices"
	"strings"
)

// State returns an object in the state, or nil.
func (w *Workspace) State(address string) *Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state[address]
}

// Addresses are the addresses in the state, sorted. What a create_before_destroy has
// left of ADDRESS is at "ADDRESS (deposed)".
func (w *Workspace) Addresses() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.state))
}

// Instances are the addresses in the state of a resource, or of all instances of a block, sorted.
func (w *Workspace) Instances(address string) []string {
	return slices.DeleteFunc(w.Addresses(), func(at string) bool { return !isOf(at, address) })
}

// Forget removes a resource, or all instances of a block, from the state, like terraform state rm.
func (w *Workspace) Forget(address string) {
	w.edit(func() {
		w.state = maps.Clone(w.state)
		maps.DeleteFunc(w.state, func(at string, _ *Object) bool { return isOf(at, address) })
	})
}

// Rename gives what the state has at one address another one of the same type, like terraform
// state mv. Core removes the dependencies of all that depends on it. Both are blocks or instances.
func (w *Workspace) Rename(from, to string) {
	w.edit(func() {
		w.state = moved(w.state, Moved{from, to})
		for at, o := range w.state {
			if slices.Contains(o.Dependencies, block(from)) {
				now := *o
				now.Dependencies = nil
				w.state[at] = &now
			}
		}
	})
}

// Backup is the state that a backend has.
type Backup struct {
	state  map[string]*Object
	serial int
}

// Backup returns the state as it is.
func (w *Workspace) Backup() Backup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Backup{w.state, w.serial}
}

// Restore puts an older state back: what a backend has that persists a state late, after the
// process was killed that made the newer one. It has its old serial, so that a plan that was
// made of it can be applied, also again.
func (w *Workspace) Restore(b Backup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.serial = b.state, b.serial
}

// Taint marks a resource for a replacement, like terraform taint.
func (w *Workspace) Taint(address string) { w.taint(address, true) }

// Untaint undoes [Workspace.Taint].
func (w *Workspace) Untaint(address string) { w.taint(address, false) }

func (w *Workspace) taint(address string, is bool) {
	w.edit(func() {
		o := *w.state[address]
		o.Tainted = is
		w.state = maps.Clone(w.state)
		w.state[address] = &o
	})
}

func (w *Workspace) edit(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	how()
}

// Clone returns another checkout, with a copy of the configuration and of the state.
func (w *Workspace) Clone() *Workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &Workspace{
		Provider: maps.Clone(w.Provider), Resources: slices.Clone(w.Resources), Moved: slices.Clone(w.Moved),
		Imports: slices.Clone(w.Imports), Machines: w.Machines, Parallelism: w.Parallelism,
		CLI: w.CLI, tb: w.tb, state: maps.Clone(w.state), serial: w.serial,
	}
}

// moved is a state after a move. It is the same one if there is nothing to move, or something
// where it moves to.
func moved(state map[string]*Object, m Moved) map[string]*Object {
	after := maps.Clone(state)
	for at, o := range state {
		if !isOf(at, m.From) {
			continue
		}
		to := m.To + strings.TrimPrefix(at, m.From)
		if state[to] != nil {
			return state
		}
		delete(after, at)
		after[to] = o
	}
	return after
}
