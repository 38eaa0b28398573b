// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// noResource is the address in a diagnostic that is of no resource.
const noResource = "provider"

// process is a provider process in use.
type process struct {
	w       *Workspace
	run     *Run
	ctx     context.Context
	plan    *Plan
	schemas map[string]*tfprotov6.Schema

	mu      sync.Mutex // of what follows; never held across a call
	diags   []Diagnostic
	state   map[string]*Object
	planned map[string]*Change
	// persisted is when the backend had the state for the last time.
	persisted time.Time
}

// within starts a process with the state of a plan, validates the configuration, and
// if there is f, configures the provider and calls f.
func (w *Workspace) within(ctx context.Context, start Start, plan *Plan, f func(*process)) Result {
	p := &process{
		w: w, ctx: ctx, plan: plan, state: maps.Clone(plan.state), planned: map[string]*Change{},
		persisted: time.Now(),
	}
	var err error
	if p.run, err = start(ctx); p.fail(noResource, err) {
		if p.run.Close != nil {
			defer p.run.Close()
		}
		if p.configure(f != nil) && f != nil {
			f(p)
		}
	}
	p.fail(noResource, context.Cause(ctx))
	if p.interrupted() {
		p.fail(noResource, errors.New("execution halted"))
	}
	slices.SortStableFunc(p.diags, func(a, b Diagnostic) int { return strings.Compare(a.Address, b.Address) })
	return Result{p.diags}
}

// configure validates the configuration as far as it is known, unless the plan has done
// that, and configures the provider if it is used.
func (p *process) configure(used bool) bool {
	all, err := p.run.Server.GetProviderSchema(p.ctx, &tfprotov6.GetProviderSchemaRequest{})
	if !p.fail(noResource, err) || !p.report(noResource, all.Diagnostics) {
		return false
	}
	p.schemas = all.ResourceSchemas
	config, err := Build(all.Provider.ValueType(), p.plan.provider)
	if !p.fail(noResource, err) {
		return false
	}
	valid, err := p.run.Server.ValidateProviderConfig(p.ctx, &tfprotov6.ValidateProviderConfigRequest{Config: dynamic(config)})
	ok := p.fail(noResource, err) && p.report(noResource, valid.Diagnostics)
	for i := 0; !p.plan.valid && i < len(p.plan.resources); i++ {
		_, valid := p.evaluate(p.plan.resources[i], func(Ref) (tftypes.Value, error) {
			return tftypes.NewValue(tftypes.String, tftypes.UnknownValue), nil
		})
		ok = valid && ok
	}
	if !ok || !used {
		return ok
	}
	resp, err := p.run.Server.ConfigureProvider(p.ctx, &tfprotov6.ConfigureProviderRequest{Config: dynamic(config), TerraformVersion: "1.14.0"})
	return p.fail(noResource, err) && p.report(noResource, resp.Diagnostics)
}

// evaluate returns the configuration of a resource after its validation.
func (p *process) evaluate(r Resource, look lookup) (config tftypes.Value, ok bool) {
	s := p.schema(r.Type)
	if s == nil {
		return config, p.fail(r.Address(), fmt.Errorf("no resource type %s", r.Type))
	}
	config, err := build(s.ValueType(), r.Values, look)
	if !p.fail(r.Address(), err) || r.Type == machineType {
		return config, err == nil
	}
	resp, ok := call(p, r.Address(), "validate", p.validate, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: r.Type, Config: dynamic(config), ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	return config, ok && p.report(r.Address(), resp.Diagnostics)
}

// valid has the types and configurations that a provider has found valid.
var valid sync.Map

// validate asks whether a configuration is valid, unless it is known to be: core asks again and
// again, and the answer is that of the configuration alone.
func (p *process) validate(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	config := req.TypeName + string(req.Config.MsgPack)
	if _, known := valid.Load(config); known {
		return &tfprotov6.ValidateResourceConfigResponse{}, nil
	}
	resp, err := p.run.Server.ValidateResourceConfig(ctx, req)
	if err == nil && len(resp.Diagnostics) == 0 {
		valid.Store(config, true)
	}
	return resp, err
}

// look returns what a reference stands for at this point of the walk.
func (p *process) look(r Ref) (v tftypes.Value, err error) {
	var c *Change
	p.locked(func() { c = p.planned[r.Resource] })
	if o := p.object(r.Resource); c != nil {
		v = c.After
	} else if o != nil {
		v = o.Value
	} else {
		return v, fmt.Errorf("%s has no value", r.Resource)
	}
	if v = at(v, strings.Split(r.Attribute, ".")); v.Type() == nil {
		err = fmt.Errorf("%s has no %s", r.Resource, r.Attribute)
	}
	return v, err
}

// locked does something with what the mutex protects.
func (p *process) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// object returns an object in the state of this process, or nil.
func (p *process) object(address string) (o *Object) {
	p.locked(func() { o = p.state[address] })
	return o
}

// keep changes the state in the process. No value removes the object.
func (p *process) keep(address string, o *Object) {
	p.locked(func() {
		if p.state[address] = o; o.Value.IsNull() {
			delete(p.state, address)
		}
	})
}

// save stores the state, unless the process has ended.
func (p *process) save() {
	if p.ctx.Err() == nil {
		p.locked(func() {
			p.persisted = time.Now()
			p.w.edit(func() { p.w.state = maps.Clone(p.state) })
		})
	}
}

// persistInterval is that of Terraform's backends (defaultPersistInterval of internal/backend/local).
const persistInterval = 20 * time.Second

// saveOne stores the state after one change of several.
func (p *process) saveOne() {
	if !p.w.Late || time.Since(p.persisted) >= persistInterval {
		p.save()
	}
}

// call makes a call of the protocol, and reports why it failed. A process that has
// ended makes none, and its answers are dropped. A crash is a finding.
func call[Q, R any](p *process, address, method string, f func(context.Context, Q) (R, error), q Q) (r R, ok bool) {
	defer func() {
		if crash := recover(); crash != nil {
			p.w.tb.Logf("%s", debug.Stack())
			ok = p.find(address, "Plugin did not respond", fmt.Sprint(crash))
		}
	}()
	ctx, err := p.ctx, error(nil)
	if p.run.Context != nil {
		ctx, err = p.run.Context(ctx, address, method)
	}
	if stop := p.interruption(); stop != nil { // StopProvider cancels what is under way
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(stop, func() { // one call at a time
			if p.run.Context != nil {
				_, _ = p.run.Context(ctx, address, "interrupt")
			}
			cancel()
		})()
		ctx = within
	}
	if err == nil && p.ctx.Err() == nil {
		r, err = f(ctx, q)
	}
	if p.ctx.Err() != nil { // within reports it
		return r, false
	}
	return r, p.fail(address, err)
}

type stopKey struct{}

// Interruptible returns the context of a command, and what interrupts the command as the
// first SIGINT does: calls under way are cancelled, their answers are kept, and nothing
// more begins.
func Interruptible(ctx context.Context) (_ context.Context, interrupt func()) {
	stop, interrupt := context.WithCancel(ctx)
	return context.WithValue(ctx, stopKey{}, stop), interrupt
}

func (p *process) interruption() context.Context {
	stop, _ := p.ctx.Value(stopKey{}).(context.Context)
	return stop
}

func (p *process) interrupted() bool {
	stop := p.interruption()
	return stop != nil && stop.Err() != nil && p.ctx.Err() == nil
}

// fail adds an error, unless it is nil. It returns whether it is nil.
func (p *process) fail(address string, err error) bool {
	if err != nil {
		p.locked(func() { p.diags = append(p.diags, Diagnostic{Address: address, Summary: err.Error(), err: err}) })
	}
	return err == nil
}

// refuse adds an error of core. It returns false.
func (p *process) refuse(address, summary string) bool { return p.fail(address, errors.New(summary)) }

// report adds diagnostics of the provider, each once. It returns false if there is
// an error.
func (p *process) report(address string, diags []*tfprotov6.Diagnostic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range ResultOf(address, diags).Diagnostics {
		if !slices.Contains(p.diags, d) {
			p.diags = append(p.diags, d)
		}
	}
	return !slices.ContainsFunc(diags, isError)
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }

// find reports what core calls a bug of the provider. It returns false.
func (p *process) find(address, summary, problem string) bool {
	p.w.tb.Errorf("%s: %s: %s", address, summary, problem)
	return p.fail(address, fmt.Errorf("%s: %s", summary, problem))
}

func (p *process) schema(typ string) *tfprotov6.Schema {
	if typ == machineType {
		return machineSchema
	}
	return p.schemas[typ]
}

func (p *process) server(typ string) tfprotov6.ProviderServer {
	if typ == machineType {
		return machines{Machines: p.w.Machines}
	}
	return p.run.Server
}

func (p *process) null(typ string) tftypes.Value {
	return tftypes.NewValue(p.schema(typ).ValueType(), nil)
}

// value reads an answer. Without a value it is null.
func (p *process) value(address, typ string, d *tfprotov6.DynamicValue) (tftypes.Value, bool) {
	if d == nil {
		return p.null(typ), true
	}
	v, err := d.Unmarshal(p.schema(typ).ValueType())
	return v, p.fail(address, err)
}

func dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		panic(err) // v is of its own type
	}
	return &d
}
