// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package driver drives a provider in tests as Terraform's core does: it makes
// the calls of plugin protocol 6 that core makes for resources, in the order of
// the graph, and keeps the state, which it writes after each resource. Configurations
// are Go values. A resource of type "machine" stands in for a machine. What core calls
// a bug of the provider fails the test: a plan that has neither what is configured nor
// what was before, and a final plan or an apply that does not keep to the plan.
//
// The package works in a bubble of testing/synctest and outside of one. Nothing
// depends on chance: what starts, starts in a fixed order.
//
// It leaves out what the tests do not need: HCL and modules, all but resources, moved and
// import blocks and the provider block, ignore_changes, prevent_destroy, conversions of types
// but for objects with fewer attributes, prior values in nested sets, plans of computed
// values in nested lists, maps and sets, and the lock of the state.
//
// Core orders destructions by the dependencies that the state has, and carries out at the same
// time what these do not order. The driver destroys machines first then: see [process.walk].
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// CLI is one that differs from others in what follows.
type CLI int

const (
	// Terraform, from 1.12 on, reads what the configuration does not have, and plans to destroy it,
	// also for apply -refresh-only.
	Terraform CLI = iota
	// Terraform111 is Terraform 1.10 and 1.11, which plan that before they read it.
	Terraform111
	// OpenTofu plans nothing for apply -refresh-only and for import. After a plan with an import
	// block of what is not configured it reports that alone, and it lets a destruction pass.
	OpenTofu
)

// Workspace is a directory of Terraform: a configuration and a state. One command
// at a time uses it.
type Workspace struct {
	// Provider are the arguments of the provider block.
	Provider Values
	// Resources is the configuration. Edit it between commands.
	Resources []Resource
	// Moved are the moved blocks, Imports the import blocks.
	Moved   []Moved
	Imports []Import
	// Machines is what happens to machines. Without machines it may be nil.
	Machines Machines
	// Parallelism is the number of resources that are carried out at a time. 0 means 10.
	Parallelism int
	// CLI is the one whose core is driven.
	CLI CLI
	// Late says that the backend persists the state at most every [persistInterval] during an
	// apply, and at its end. The local backend persists each change.
	Late bool
	// Failing are the addresses whose creation-time provisioners fail: the resource is tainted then,
	// and nothing that depends on it is carried out.
	Failing map[string]bool

	tb     testing.TB
	mu     sync.Mutex // of what follows; never held across a call
	state  map[string]*Object
	serial int
}

// New returns a workspace with an empty state. Findings fail tb.
func New(tb testing.TB, provider Values, resources ...Resource) *Workspace {
	return &Workspace{Provider: provider, Resources: resources, tb: tb, state: map[string]*Object{}}
}

// Values are the arguments of a block. A missing argument is null. A value is
// anything that JSON can represent, [Ref], [JSON], or [Unknown], which may also stand
// inside of slices and maps.
type Values map[string]any

// Ref is the value of an attribute of another resource, and an edge of the graph.
// Attribute may be a path with dots, as of an element of a map.
type Ref struct{ Resource, Attribute string }

// JSON is jsonencode of the value of a [Ref].
type JSON Ref

// Unknown is a value that is known only after apply. It makes an apply fail.
type Unknown struct{}

// Resource is a resource in the configuration.
type Resource struct {
	// Type and Name make the address. a["x"] and a["y"] are of one block: as in
	// Terraform, what depends on one depends on both.
	Type, Name string
	Values     Values
	// After are the addresses in depends_on.
	After []string
	// CreateBeforeDestroy is the argument of lifecycle. As in Terraform, it holds for
	// what the resource depends on, too.
	CreateBeforeDestroy bool
	// ReplacedBy is replace_triggered_by. Without an attribute, an update or a
	// replacement of that resource counts.
	ReplacedBy []Ref
}

// Moved is a moved block: what the state has at From is at To. Both are of one type, and either
// two blocks or two instances.
type Moved struct{ From, To string }

// Import is an import block.
type Import struct{ To, ID string }

// Address is the address of the resource.
func (r Resource) Address() string { return r.Type + "." + r.Name }

// Object is a resource in the state. It is not changed.
type Object struct {
	Value    tftypes.Value
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
	Tainted  bool
	// Dependencies are the blocks that it depends on, with theirs, as an apply or a refresh has
	// stored them. An imported object has none.
	Dependencies []string

	first bool // create_before_destroy
}

// Run is one provider process.
type Run struct {
	Name   string
	Server tfprotov6.ProviderServer
	// Close is called at the end of the process. It may be nil.
	Close func()
	// Context makes the context of a call, and may wait. The method is "validate",
	// "upgrade", "read", "plan", "apply", "import" or "move", or "interrupt" before a call under way is cancelled. If it fails, the call is not made, and the
	// command fails. nil means the context of the command.
	Context func(ctx context.Context, resource, method string) (context.Context, error)
}

// Start starts a provider process. A plan and an apply have one each. The end of the
// context is the end of the process: answers to calls under way are dropped.
type Start func(ctx context.Context) (*Run, error)

// Diagnostic is an error or warning. Address is "provider" if it is of no resource.
type Diagnostic struct {
	Address         string
	Warning         bool
	Summary, Detail string
	err             error // unless the provider reported it
}

// Error is "address: summary: detail".
func (d Diagnostic) Error() string {
	return strings.TrimSuffix(d.Address+": "+d.Summary+": "+d.Detail, ": ")
}

// Unwrap returns the error that the provider did not report.
func (d Diagnostic) Unwrap() error { return d.err }

// Result is the outcome of a command. Its diagnostics are sorted by address.
type Result struct{ Diagnostics []Diagnostic }

// ResultOf returns diagnostics of the protocol as a result.
func ResultOf(address string, diags []*tfprotov6.Diagnostic) (r Result) {
	for _, d := range diags {
		r.Diagnostics = append(r.Diagnostics, Diagnostic{Address: address, Warning: !isError(d), Summary: d.Summary, Detail: d.Detail})
	}
	return r
}

// Err is nil without errors. It wraps those of [Run.Context], [Start] and the context.
func (r Result) Err() error {
	var errs []error
	for _, d := range r.Diagnostics {
		if !d.Warning {
			errs = append(errs, d)
		}
	}
	return errors.Join(errs...)
}

// Change is what a plan has for one resource.
type Change struct {
	Address string
	// Action is "create", "update", "replace", "delete" or "no-op".
	Action string
	// Imports says that the plan imports the object, and then does that to it.
	Imports bool
	// Before and After are the refreshed and the planned value.
	Before, After tftypes.Value

	typ      string
	resource *Resource // nil if it is not in the configuration
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	replaces bool
	first    bool // create_before_destroy
	// deposed is where the state has the object that was before, from its creation on.
	deposed string
}

// Plan is a saved plan: changes in the order of the configuration, then those of
// what is only in the state.
type Plan struct {
	Changes []*Change

	cli       CLI
	provider  Values
	resources []Resource
	imports   []Import
	destroys  bool               // everything
	refreshes bool               // what a destruction destroys, and imports nothing
	state     map[string]*Object // as refreshed
	valid     bool               // the configuration, as far as it is known
	serial    int
}

// Change returns the change of a resource, or nil.
func (p *Plan) Change(address string) *Change {
	if i := slices.IndexFunc(p.Changes, func(c *Change) bool { return c.Address == address }); i >= 0 {
		return p.Changes[i]
	}
	return nil
}

// Actions are the changes as "create machine.a" or "import and update machine.a", without those
// that do nothing, sorted.
func (p *Plan) Actions() (out []string) {
	for i := 0; p != nil && i < len(p.Changes); i++ {
		switch c := p.Changes[i]; {
		case c.Imports && c.Action == noOp:
			out = append(out, "import "+c.Address)
		case c.Imports:
			out = append(out, "import and "+c.Action+" "+c.Address)
		case c.Action != noOp:
			out = append(out, c.Action+" "+c.Address)
		}
	}
	slices.Sort(out)
	return out
}

// FromJSON reads a value. A text that begins with @ is a reference: "@ADDRESS ATTRIBUTE", and
// "@unknown" is [Unknown].
func FromJSON(text string) (v any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return referring(v), err
}

func referring(v any) any {
	switch v := v.(type) {
	case string:
		if at, is := strings.CutPrefix(v, "@"); at == "unknown" && is {
			return Unknown{}
		} else if is {
			resource, attribute, _ := strings.Cut(at, " ")
			return Ref{Resource: resource, Attribute: attribute}
		}
	case map[string]any:
		for name := range v {
			v[name] = referring(v[name])
		}
		return Values(v)
	case []any:
		for i := range v {
			v[i] = referring(v[i])
		}
	}
	return v
}
