// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// bridge lets a real CLI work on a simulated world. Its providers are served outside of
// the bubble, because a bubble lets no time pass while one of its goroutines waits for a
// socket. Their calls are carried out in the bubble. While the CLI works, and while a request or
// an answer is on its way, time stands still in the bubble: it passes only if the CLI sleeps and
// waits for answers. So nothing depends on how fast the machine is.
type bridge struct {
	// All channels are made outside of the bubble, so a wait for them stops its time.
	calls   chan bridgedCall   // calls from the CLI
	begin   chan []string      // commands for the CLI
	ask     chan bool          // asks for new calls, and says whether there are others under way
	found   chan []bridgedCall // new calls; nil after the end of the command
	outcome *acctest.Outcome   // of the last command
	number  atomic.Int64       // of calls
	relay   relay
	inside  atomic.Int64    // calls that have come here, and are not carried out
	first   map[string]bool // members that wait for the end of their machines
}

// bridgedCall is a call from the CLI. destroys is the name of the machine that it destroys, removes
// that of the member that it removes.
type bridgedCall struct {
	do                func()
	destroys, removes string
}

func newBridge(t *testing.T, ws *acctest.Workspace) *bridge {
	b := &bridge{
		calls: make(chan bridgedCall), begin: make(chan []string), ask: make(chan bool),
		found: make(chan []bridgedCall), relay: relay{open: map[*relayed]bool{}},
	}
	go b.attend(ws)
	t.Cleanup(func() { close(b.begin) })
	return b
}

// attend runs the commands, outside of the bubble.
func (b *bridge) attend(ws *acctest.Workspace) {
	for args := range b.begin {
		run := ws.Begin(args...)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.outcome = run.Wait()
		}()
		for busy := range b.ask {
			calls := b.collect(run, ended, busy)
			b.found <- calls
			if calls == nil {
				break
			}
		}
	}
}

// collect waits until the CLI waits, and returns the calls that it has made by then.
func (b *bridge) collect(run *acctest.Running, ended chan struct{}, busy bool) []bridgedCall {
	calls := []bridgedCall{}
	for {
		var pause <-chan time.Time // without a call under way the CLI waits for nothing
		if busy || len(calls) > 0 {
			pause = time.After(200 * time.Microsecond)
		}
		select {
		case c := <-b.calls:
			b.inside.Add(1)
			calls = append(calls, c)
		case <-ended:
			if busy {
				return calls
			}
			return nil
		case <-pause:
			if b.waits(run.Cmd.Process.Pid) {
				return calls
			}
		}
	}
}

// waits reports whether the CLI waits for the calls that have come here, and for nothing else:
// all its threads slept at one moment, and at that moment nothing else was on its way.
func (b *bridge) waits(pid int) bool {
	passed := b.relay.passed.Load()
	ran, asleep := etcdtest.Threads(pid)
	if !asleep {
		return false
	}
	again, asleep := etcdtest.Threads(pid)
	return asleep && ran == again && int64(b.relay.waiting()) == b.inside.Load() && b.relay.passed.Load() == passed
}

// run runs a command, and carries out its calls in the bubble. The removal of a member that is to
// follow the destruction of its machine waits for that. If the CLI waits for nothing but removals
// that wait, they begin.
func (b *bridge) run(args ...string) *acctest.Outcome {
	b.begin <- args
	done := make(chan bridgedCall)
	var held []bridgedCall
	destroyed := map[string]bool{}
	running := 0
	for {
		b.ask <- len(held)+running > 0
		calls := <-b.found
		if calls == nil {
			return b.outcome
		}
		idle := len(calls)+running == 0
		held = slices.DeleteFunc(append(held, calls...), func(c bridgedCall) bool {
			if c.removes != "" && b.first[c.removes] && !destroyed[c.removes] && !idle {
				return false
			}
			running++
			go func() { c.do(); done <- c }()
			return true
		})
		if running == 0 {
			continue
		}
		select {
		case c := <-done:
			running--
			destroyed[c.destroys] = true
		case <-time.After(time.Second): // the CLI may have more to do, whatever its threads do
		}
	}
}

// bridged is a provider for the CLI: the calls for resources are carried out by one that
// starts in the bubble whenever the CLI configures it. The CLI does so once for each
// process that it would start.
type bridged struct {
	tfprotov6.ProviderServer // answers what needs no world
	*bridge
	w       *world
	start   driver.Start
	schemas map[string]*tfprotov6.Schema // of resources

	run *driver.Run // nil before the first one
}

// within carries out a call in the bubble.
func within[Q, R any](ctx context.Context, p *bridged, typ string, f func(tfprotov6.ProviderServer, context.Context, Q) (R, error), q Q) (r R, err error) {
	done := make(chan struct{})
	call, named := p.destroys(q)
	call.do = func() {
		defer close(done)
		defer p.inside.Add(-1)
		server, run := p.ProviderServer, "new"
		if p.run != nil {
			server, run = p.run.Server, p.run.Name
		}
		resource := fmt.Sprint(typ, named, " ", p.number.Add(1)) // the protocol names no address
		method := strings.TrimSuffix(fmt.Sprintf("%T", q), "Request")
		inside, _ := p.w.schedule.Context(p.w.Context(), run, resource, method[strings.LastIndex(method, ".")+1:])
		r, err = f(server, inside, q)
	}
	select {
	case p.calls <- call:
		<-done
	case <-ctx.Done():
		err = ctx.Err()
	}
	return r, err
}

// destroys says what a call destroys, and its name in brackets.
func (p *bridged) destroys(q any) (c bridgedCall, named string) {
	change, ok := q.(*tfprotov6.ApplyResourceChangeRequest)
	if !ok {
		return c, ""
	}
	value := func(d *tfprotov6.DynamicValue) tftypes.Value {
		v, err := d.Unmarshal(p.schemas[change.TypeName].ValueType())
		p.w.must(err)
		return v
	}
	prior := value(change.PriorState)
	name := cmp.Or(driver.Attribute(prior, "name"), driver.Attribute(prior, "config", "name"))
	switch {
	case !value(change.PlannedState).IsNull():
		return c, ""
	case change.TypeName == "machine":
		c.destroys = name
	default:
		c.removes = name
	}
	return c, fmt.Sprintf("[%q]", name)
}

// end ends the process.
func (p *bridged) end() {
	if p.run != nil && p.run.Close != nil {
		p.run.Close()
	}
	p.run = nil
}

// ConfigureProvider implements tfprotov6.ProviderServer.
func (p *bridged) ConfigureProvider(ctx context.Context, q *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return within(ctx, p, "provider", func(_ tfprotov6.ProviderServer, ctx context.Context, q *tfprotov6.ConfigureProviderRequest) (resp *tfprotov6.ConfigureProviderResponse, err error) {
		p.end()
		if p.run, err = p.start(ctx); err != nil {
			return nil, err
		}
		return p.run.Server.ConfigureProvider(ctx, q)
	}, q)
}

// UpgradeResourceState implements tfprotov6.ProviderServer.
func (p *bridged) UpgradeResourceState(ctx context.Context, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return within(ctx, p, q.TypeName, tfprotov6.ProviderServer.UpgradeResourceState, q)
}

// ReadResource implements tfprotov6.ProviderServer.
func (p *bridged) ReadResource(ctx context.Context, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return within(ctx, p, q.TypeName, tfprotov6.ProviderServer.ReadResource, q)
}

// PlanResourceChange implements tfprotov6.ProviderServer.
func (p *bridged) PlanResourceChange(ctx context.Context, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return within(ctx, p, q.TypeName, tfprotov6.ProviderServer.PlanResourceChange, q)
}

// ApplyResourceChange implements tfprotov6.ProviderServer.
func (p *bridged) ApplyResourceChange(ctx context.Context, q *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return within(ctx, p, q.TypeName, tfprotov6.ProviderServer.ApplyResourceChange, q)
}

// ImportResourceState implements tfprotov6.ProviderServer.
func (p *bridged) ImportResourceState(ctx context.Context, q *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return within(ctx, p, q.TypeName, tfprotov6.ProviderServer.ImportResourceState, q)
}
