// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package etcdsim simulates etcd clusters for tests, in this process and without
// a socket. A [Network] holds clusters; [Network.Run] is one run's view of it,
// which a [connection.Pool] takes in place of the real network.
//
// The simulation is at the level of etcd's protobuf services: clientv3 runs above
// it unchanged, except for its retries. What etcd answers is held by the contract suite,
// which also passes on real servers.
//
// Time is virtual in a bubble of testing/synctest, and real outside of one. Nothing
// depends on chance: the order of requests decides. TLS is not simulated.
package etcdsim

import (
	"context"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Network holds the clusters that clients can reach. The zero value is empty. A
// Network is safe for concurrent use; its fields are set before.
type Network struct {
	// Before is called before a request is carried out, and may block. Its error
	// becomes the answer, and the request is then not carried out. It is called again,
	// with [Call.Late], whenever a request goes on that had to wait.
	Before func(ctx context.Context, c Call) error
	// After is called with an answer, or an error, and may change the answer. It
	// returns the error that the client gets, so it can lose the answer to a
	// request that was carried out. The answer to an HTTP request is nil.
	After func(ctx context.Context, c Call, answer proto.Message, err error) error

	// MaxLearners is --max-learners of the processes. 0 means 1, etcd's default.
	MaxLearners int
	// Lax is --strict-reconfig-check=false: no change is refused for the health of
	// the members.
	Lax bool
	// V2 is --enable-v2 of the processes, which 3.5 has.
	V2 bool
	// HTTP is the port of ETCD_LISTEN_CLIENT_HTTP_URLS of every process, "" without it.
	HTTP string

	mu       sync.Mutex
	clusters []*Cluster
	changed  chan struct{} // closed and replaced with each change
	at       map[string]*Process
	cut      map[[2]string]bool // by run and address
	services map[string]*Service
}

// Call is a request of a run to an address.
type Call struct {
	// Run is the name given to [Network.Run].
	Run string
	// Address is the scheme, host and port.
	Address string
	// Method is the full gRPC method, or that of HTTP and a path with its arguments.
	Method string
	// Request is nil for HTTP and for a watch that is about to deliver events.
	Request proto.Message
	// Resource is that of [Scheduler.Context] when the request began. Its context may
	// forget it before the request ends.
	Resource string
	// Late is true if the request began earlier and had to wait.
	Late bool
}

// Run is one run's view of a network.
type Run struct {
	n          *Network
	name, user string
}

var _ connection.World = (*Run)(nil)

// Run returns the view of the run of that name.
func (n *Network) Run(name string) *Run { return &Run{n: n, name: name} }

// As returns the view of a run that needs no token: each request comes from the user, as
// that of a client certificate with the common name does.
func (r *Run) As(user string) *Run { return &Run{r.n, r.name, user} }

// Answer makes a process answer at an address, in addition to its client URL:
// behind it may be a member of another cluster. nil means that nothing listens.
func (n *Network) Answer(address string, p *Process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listen(address, p)
	n.notify()
}

func (n *Network) listen(address string, p *Process) {
	if n.at == nil {
		n.at = map[string]*Process{}
	}
	n.at[address] = p
}

// Cut makes an address silent for a run, or for all runs if the name is empty:
// requests get no answer, and those under way are carried out. Heal undoes it.
func (n *Network) Cut(run, address string) { n.setCut(run, address, true) }

// Heal undoes [Network.Cut].
func (n *Network) Heal(run, address string) { n.setCut(run, address, false) }

func (n *Network) setCut(run, address string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut == nil {
		n.cut = map[[2]string]bool{}
	}
	n.cut[[2]string{run, address}] = cut
	n.notify()
}

func (n *Network) silent(run, address string) bool {
	return n.cut[[2]string{run, address}] || n.cut[[2]string{"", address}]
}

// notify wakes everything that waits. n.mu must be held.
func (n *Network) notify() {
	if n.changed != nil {
		close(n.changed)
	}
	n.changed = make(chan struct{})
}

// errGone is the end of a connection to a process that has ended.
var errGone = status.Error(codes.Unavailable, "error reading from server: EOF")

// wait returns nil as soon as is returns true, and before that the error of ctx,
// of a process that has ended, or late after limit unless limit is 0. n.mu must be
// held; wait releases it in between. A nil process means no process. What happens
// may end many waits at a time: each then takes its turn, and looks again.
func (n *Network) wait(ctx context.Context, p *Process, limit time.Duration, late error, is func() bool) error {
	var timeout <-chan time.Time
	life, blocked, over := p.life(), false, false
	for {
		var end error
		switch {
		case ctx.Err() != nil:
			end = ctx.Err()
		case p != nil && (!p.running || p.life() != life):
			end = errGone
		case is():
		case over:
			end = late
		default:
			blocked = true
			if limit > 0 && timeout == nil {
				timer := time.NewTimer(limit)
				defer timer.Stop()
				timeout = timer.C
			}
			over = n.pause(ctx, timeout)
			continue
		}
		if !blocked {
			return end
		}
		blocked = false
		n.mu.Unlock()
		turn := n.turn(ctx)
		n.mu.Lock()
		if turn != nil {
			return turn
		}
	}
}

// pause waits for a change, the end of ctx, or timeout, and returns whether it was
// the latter. n.mu must be held; pause releases it in between.
func (n *Network) pause(ctx context.Context, timeout <-chan time.Time) (over bool) {
	if n.changed == nil {
		n.notify()
	}
	changed := n.changed
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	case <-timeout:
		return true
	}
	return false
}

// turn calls Before for a request that has waited.
func (n *Network) turn(ctx context.Context) error {
	c, ok := ctx.Value(callKey{}).(Call)
	if !ok || n.Before == nil {
		return nil
	}
	c.Late = true
	return n.Before(ctx, c)
}

type callKey struct{}

// begin calls Before, and returns the context of the request.
func (n *Network) begin(ctx context.Context, c Call) (context.Context, error) {
	c.Resource = ResourceOf(ctx)
	ctx = context.WithValue(ctx, callKey{}, c)
	if n.Before == nil {
		return ctx, nil
	}
	return ctx, n.Before(ctx, c)
}

// reach returns the process that answers at an address, when it does. n.mu must
// be held.
func (n *Network) reach(ctx context.Context, run, address string) (*Process, error) {
	err := n.wait(ctx, nil, 0, nil, func() bool {
		p := n.at[address]
		return !n.silent(run, address) && (p == nil || !p.running || !p.frozen)
	})
	p := n.at[address]
	if err == nil && (p == nil || !p.running) {
		err = connection.AttemptError(address, syscall.ECONNREFUSED)
	}
	return p, err
}

// unary carries out a request and returns its answer.
func (n *Network) unary(ctx context.Context, c Call) (proto.Message, error) {
	ctx, err := n.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	c, _ = ctx.Value(callKey{}).(Call)
	n.mu.Lock()
	p, err := n.reach(ctx, c.Run, c.Address)
	var answer proto.Message
	if err == nil {
		answer, err = p.serve(ctx, c.Request)
		// If the connection fell silent in the meantime, the answer is late.
		if lost := n.wait(ctx, p, 0, nil, func() bool { return !p.frozen && !n.silent(c.Run, c.Address) }); lost != nil {
			err = lost
		}
	}
	n.mu.Unlock()
	return n.after(ctx, c, answer, err)
}

// after passes an answer through After. The answer shares keys with the store.
func (n *Network) after(ctx context.Context, c Call, answer proto.Message, err error) (proto.Message, error) {
	if n.After != nil {
		if answer != nil {
			answer = proto.Clone(answer)
		}
		err = n.After(ctx, c, answer, err)
	}
	if err != nil {
		return nil, onWire(err)
	}
	return answer, nil
}
