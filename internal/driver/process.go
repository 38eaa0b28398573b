// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The actions of a change.
const (
	create, update, replace, remove, noOp = "create", "update", "replace", "delete", "no-op"
)

var (
	errInterrupted = errors.New("execution halted")
	errHandled     = errors.New("handled") // its diagnostics have been added
)

// process is a provider process in use.
type process struct {
	w       *Workspace
	run     *Run
	ctx     context.Context
	blocks  blocks
	schemas map[string]*tfprotov6.Schema
	// bare is whether the provider wants no plan of a destruction.
	bare    bool
	stopped atomic.Bool

	mu     sync.Mutex // never held across a call
	diags  []Diagnostic
	values map[string]tftypes.Value // what references see
}

// within starts a process, configures it, and calls f.
func (w *Workspace) within(ctx context.Context, start Start, provider Values, b blocks, f func(*process)) Result {
	p := &process{w: w, ctx: ctx, blocks: b, values: map[string]tftypes.Value{}}
	var err error
	if p.run, err = start(ctx); err != nil {
		p.fail("provider", err)
		return p.result()
	}
	if p.run.Close != nil {
		defer p.run.Close()
	}
	if p.configure(provider) {
		f(p)
	}
	if err := context.Cause(ctx); err != nil {
		p.fail("provider", err)
	}
	return p.result()
}

// configure validates the configuration, as far as it is known, and configures the provider.
func (p *process) configure(provider Values) bool {
	all, err := p.run.Server.GetProviderSchema(p.ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || !p.report("provider", all.Diagnostics) {
		return p.fail("provider", err)
	}
	p.schemas, p.bare = all.ResourceSchemas, all.ServerCapabilities == nil || !all.ServerCapabilities.PlanDestroy
	config, err := evaluate(all.Provider.ValueType().(tftypes.Object), provider, func(Ref) (tftypes.Value, error) {
		return tftypes.Value{}, errors.New("a reference in the provider block")
	})
	if err != nil {
		return p.fail("provider", err)
	}
	valid, err := p.run.Server.ValidateProviderConfig(p.ctx, &tfprotov6.ValidateProviderConfigRequest{Config: dynamic(config)})
	if err != nil || !p.report("provider", valid.Diagnostics) {
		return p.fail("provider", err)
	}
	ok := p.blocks.check(p)
	for _, r := range p.blocks.resources {
		config, err := p.evaluate(r, func(Ref) (tftypes.Value, error) {
			return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue), nil
		})
		ok = p.fail(r.Address(), err) && p.validate(r, config) && ok
	}
	if !ok {
		return false
	}
	resp, err := p.run.Server.ConfigureProvider(p.ctx, &tfprotov6.ConfigureProviderRequest{Config: dynamic(config), TerraformVersion: "1.14.0"})
	return p.fail("provider", err) && p.report("provider", resp.Diagnostics)
}

func (p *process) evaluate(r *Resource, look lookup) (tftypes.Value, error) {
	typ, err := p.typ(r.Type)
	if err != nil {
		return tftypes.Value{}, err
	}
	return evaluate(typ, r.Values, look)
}

func (p *process) schema(typ string) *tfprotov6.Schema {
	if typ == machineType {
		return machineSchema
	}
	return p.schemas[typ]
}

func (p *process) typ(typ string) (tftypes.Object, error) {
	s := p.schema(typ)
	if s == nil || len(s.Block.BlockTypes) > 0 {
		return tftypes.Object{}, fmt.Errorf("no resource type %s, or one with nested blocks", typ)
	}
	return s.ValueType().(tftypes.Object), nil
}

func (p *process) null(typ string) tftypes.Value {
	return tftypes.NewValue(p.schema(typ).ValueType(), nil)
}

// server is the provider of a type.
func (p *process) server(typ string) tfprotov6.ProviderServer {
	if typ == machineType {
		return machines{w: p.w}
	}
	return p.run.Server
}

// look returns the value of a reference at this point.
func (p *process) look(r Ref) (tftypes.Value, error) {
	p.mu.Lock()
	v, ok := p.values[r.Resource]
	p.mu.Unlock()
	if !ok || v.IsNull() {
		return tftypes.Value{}, fmt.Errorf("%s has no value", r.Resource)
	}
	return at(v, strings.Split(r.Attribute, ".")), nil
}

func (p *process) set(address string, v tftypes.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[address] = v
}

// call makes a call of the protocol, and reports why it failed. The answer to a
// call under way when the process ends is dropped.
func call[Q, R any](p *process, address, method string, f func(context.Context, Q) (R, error), q Q) (r R, ok bool) {
	ctx, err := p.ctx, context.Cause(p.ctx)
	if err == nil && p.stopped.Load() {
		err = errInterrupted
	}
	if err == nil && p.run.Context != nil {
		ctx, err = p.run.Context(ctx, address, method)
	}
	if err == nil {
		r, err = f(ctx, q)
	}
	if p.ctx.Err() != nil {
		return r, false // within reports it
	}
	return r, p.fail(address, err)
}

func (p *process) validate(r *Resource, config tftypes.Value) bool {
	resp, ok := call(p, r.Address(), "validate", p.server(r.Type).ValidateResourceConfig, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: r.Type, Config: dynamic(config), ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	return ok && p.report(r.Address(), resp.Diagnostics)
}

// fail adds an error, unless it is nil. It returns whether it is nil.
func (p *process) fail(address string, err error) bool {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.diags = append(p.diags, Diagnostic{Address: address, Summary: err.Error(), err: err})
	}
	return err == nil
}

// report adds diagnostics. It returns false if there is an error.
func (p *process) report(address string, diags []*tfprotov6.Diagnostic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok := true
	for _, d := range diags {
		warning := d.Severity == tfprotov6.DiagnosticSeverityWarning
		ok = ok && warning
		p.diags = append(p.diags, Diagnostic{Address: address, Warning: warning, Summary: d.Summary, Detail: d.Detail})
	}
	return ok
}

// find reports what core calls a bug of the provider: an error, which also fails the test.
func (p *process) find(address, summary string, problems []string) bool {
	for _, problem := range problems {
		p.w.tb.Errorf("%s: %s: %s", address, summary, problem)
		p.fail(address, fmt.Errorf("%s: %s", summary, problem))
	}
	return len(problems) == 0
}

func (p *process) result() Result {
	slices.SortStableFunc(p.diags, func(a, b Diagnostic) int { return strings.Compare(a.Address, b.Address) })
	return Result{p.diags}
}

func dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		panic(err) // v is of its own type
	}
	return &d
}

// value reads an object of a type. An answer without one is null.
func (p *process) value(typ string, d *tfprotov6.DynamicValue) (tftypes.Value, error) {
	if d == nil {
		return p.null(typ), nil
	}
	v, err := d.Unmarshal(p.schema(typ).ValueType())
	return canonical(v), err
}
