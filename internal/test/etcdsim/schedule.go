// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// Scheduler lets one thing happen at a time in a bubble of testing/synctest, in an
// order that follows from a seed. Three things wait for it: requests to a [Network]
// ([Scheduler.Before]), the end of sleeps ([Scheduler.Clock]), and the start of
// what [Scheduler.Context] is called for. Whenever nothing else can go on, it
// lets one of them go on; time passes when nothing waits. So a bubble has one
// Scheduler, and nobody else calls synctest.Wait.
//
// What goes on must come to rest without the Scheduler. So code in the bubble
// holds no mutex and no sync.Once across a request or a sleep: a bubble does not
// count a goroutine that waits for one as blocked, and hangs.
type Scheduler struct {
	// Latency is the longest time that a request takes. It is set before.
	Latency time.Duration
	// Twins says that things of one name may wait at the same time. Without it they
	// fail the test, because such a run cannot be repeated.
	Twins bool

	tb            testing.TB
	random        *rand.Rand
	begin         time.Time
	arrived       chan struct{}
	stop, stopped chan struct{}

	mu      sync.Mutex
	waiting []*ticket
	times   map[string]int
	log     []string
}

// ticket is something that waits. Its name says who waits for what.
type ticket struct {
	ctx  context.Context
	name string
	turn chan struct{}
	// ended is true once the context has ended: the thing fails when its turn comes,
	// and its name may be that of a new one.
	ended bool
}

// NewScheduler starts a scheduler in a bubble. The caller stops it.
func NewScheduler(tb testing.TB, seed uint64) *Scheduler {
	s := &Scheduler{
		tb: tb, random: rand.New(rand.NewPCG(seed, 0)), begin: time.Now(), times: map[string]int{}, //nolint:gosec // it must be repeatable
		arrived: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go s.run()
	return s
}

// Stop ends the scheduler. Nothing may wait for it any more.
func (s *Scheduler) Stop() {
	close(s.stop)
	<-s.stopped
}

// Log returns what has happened: the time since the start, which of how many
// waiting things it was, its name, and how often it has happened.
func (s *Scheduler) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Scheduler) run() {
	defer close(s.stopped)
	for {
		synctest.Wait()
		t, pause := s.next()
		if t != nil {
			time.Sleep(pause)
			close(t.turn)
			continue
		}
		select {
		case <-s.arrived:
		case <-s.stop:
			return
		}
	}
}

// next picks what goes on, and the time before that. It returns nil if nothing waits.
func (s *Scheduler) next() (*ticket, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, 0
	}
	for _, t := range s.waiting {
		if t.ctx.Err() != nil && !t.ended {
			t.name, t.ended = t.name+" (ended)", true
		}
	}
	slices.SortFunc(s.waiting, func(a, b *ticket) int { return strings.Compare(a.name, b.name) })
	for i, t := range s.waiting[1:] {
		if t.name == s.waiting[i].name && !t.ended && !s.Twins {
			s.tb.Errorf("two things of one name wait for their turn: %s", t.name)
		}
	}
	i := s.random.IntN(len(s.waiting))
	t := s.waiting[i]
	s.times[t.name]++
	s.log = append(s.log, fmt.Sprintf("%v %d/%d %s #%d", time.Since(s.begin), i+1, len(s.waiting), t.name, s.times[t.name]))
	s.waiting = slices.Delete(s.waiting, i, i+1)
	if s.Latency == 0 {
		return t, 0
	}
	return t, time.Duration(s.random.Int64N(int64(s.Latency)))
}

// wait waits for its turn. The end of ctx does not end the wait: it could end
// several at a time, in any order. It is the error when the turn comes.
func (s *Scheduler) wait(ctx context.Context, name ...string) error {
	t := &ticket{ctx: ctx, name: strings.Join(name, " "), turn: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	<-t.turn
	return ctx.Err()
}

// Before is for [Network.Before].
func (s *Scheduler) Before(ctx context.Context, c Call) error {
	args := ""
	if c.Request != nil {
		// The package varies the number of spaces between fields.
		args = strings.ReplaceAll(prototext.MarshalOptions{}.Format(c.Request), "  ", " ")
	}
	if c.Late || c.Request == nil {
		args += " answer"
	}
	if err := s.wait(ctx, c.Run, c.Resource, c.Address, c.Method, args); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// Context waits for the turn of a call of the protocol, and returns the context
// with which the name of the resource gets into the names of what waits below.
func (s *Scheduler) Context(ctx context.Context, run, resource, method string) (context.Context, error) {
	return context.WithValue(ctx, resourceKey{}, resource), s.wait(ctx, run, resource, method)
}

type resourceKey struct{}

// ResourceOf returns the resource in a context of [Scheduler.Context], "" in others.
func ResourceOf(ctx context.Context) string {
	name, _ := ctx.Value(resourceKey{}).(string)
	return name
}

// Clock returns the clock of a run.
func (s *Scheduler) Clock(run string) clock.Clock { return waking{s, run} }

// waking is a clock whose sleepers wake one at a time.
type waking struct {
	s   *Scheduler
	run string
}

// Now implements [clock.Clock].
func (waking) Now() time.Time { return time.Now() }

// Sleep implements [clock.Clock].
func (w waking) Sleep(ctx context.Context, d time.Duration) error {
	if err := (clock.System{}).Sleep(ctx, d); err != nil {
		return err
	}
	return w.s.wait(ctx, w.run, ResourceOf(ctx), "slept", d.String())
}
