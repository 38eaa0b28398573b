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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// bridge lets a real CLI work on a simulated world. Its providers are served outside of
// the bubble, because a bubble lets no time pass while one of its goroutines waits for a
// socket. Their calls are carried out in the bubble. While the CLI works, time stands
// still in the bubble: it passes only if the CLI sleeps and waits for an answer. So
// nothing depends on how fast the machine is.
type bridge struct {
	// All channels are made outside of the bubble, so a wait for them stops its time.
	calls   chan bridgedCall   // calls from the CLI
	begin   chan []string      // commands for the CLI
	ask     chan bool          // asks for new calls, and says whether there are others under way
	found   chan []bridgedCall // new calls; nil after the end of the command
	outcome *acctest.Outcome   // of the last command
	number  atomic.Int64       // of calls
}

// bridgedCall is a call from the CLI.
type bridgedCall struct {
	do     func()
	number int64
	turn   turn
}

// turn is when a call begins, of those that are made at a time.
type turn int

const (
	first turn = iota // it changes nothing
	destroysMachine
	changesOther
)

func (c bridgedCall) compare(other bridgedCall) int { return cmp.Compare(c.turn, other.turn) }

func turnOf(call any) turn {
	change, ok := call.(*tfprotov6.ApplyResourceChangeRequest)
	switch {
	case !ok:
		return first
	case driver.DestroysMachine(change):
		return destroysMachine
	}
	return changesOther
}

func newBridge(t *testing.T, ws *acctest.Workspace) *bridge {
	b := &bridge{
		calls: make(chan bridgedCall), begin: make(chan []string), ask: make(chan bool),
		found: make(chan []bridgedCall),
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
	for asleep := 0; asleep < 2; {
		var pause <-chan time.Time // without a call under way the CLI waits for nothing
		if busy || len(calls) > 0 {
			pause = time.After(200 * time.Microsecond)
		}
		select {
		case c := <-b.calls:
			calls, asleep = append(calls, c), 0
		case <-ended:
			if busy {
				return calls
			}
			return nil
		case <-pause:
			// A thread that waits for a processor does not sleep.
			if asleep++; !etcdtest.ThreadsAre('S', run.Cmd.Process.Pid) {
				asleep = 0
			}
		}
	}
	return calls
}

// run runs a command, and carries out its calls in the bubble. Of what the CLI does at the same
// time, the destruction of a machine comes first, as in the driver: no other change begins while
// one is under way, or a call that it may follow.
func (b *bridge) run(args ...string) *acctest.Outcome {
	b.begin <- args
	done := make(chan bridgedCall)
	var held, running []bridgedCall
	for {
		b.ask <- len(held)+len(running) > 0
		calls := <-b.found
		if calls == nil {
			return b.outcome
		}
		held = append(held, calls...)
		now := slices.MinFunc(slices.Concat(held, running), bridgedCall.compare)
		held = slices.DeleteFunc(held, func(c bridgedCall) bool {
			if c.turn > now.turn {
				return false
			}
			running = append(running, c)
			go func() { c.do(); done <- c }()
			return true
		})
		select {
		case c := <-done:
			running = slices.DeleteFunc(running, func(r bridgedCall) bool { return r.number == c.number })
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
	w     *world
	start driver.Start

	run *driver.Run // nil before the first one
}

// within carries out a call in the bubble.
func within[Q, R any](ctx context.Context, p *bridged, typ string, f func(tfprotov6.ProviderServer, context.Context, Q) (R, error), q Q) (r R, err error) {
	done, number := make(chan struct{}), p.number.Add(1)
	call := func() {
		defer close(done)
		server, run := p.ProviderServer, "new"
		if p.run != nil {
			server, run = p.run.Server, p.run.Name
		}
		resource := fmt.Sprint(typ, " ", number) // the protocol names no address
		method := strings.TrimSuffix(fmt.Sprintf("%T", q), "Request")
		inside, _ := p.w.schedule.Context(p.w.Context(), run, resource, method[strings.LastIndex(method, ".")+1:])
		r, err = f(server, inside, q)
	}
	select {
	case p.calls <- bridgedCall{do: call, number: number, turn: turnOf(q)}:
		<-done
	case <-ctx.Done():
		err = ctx.Err()
	}
	return r, err
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
