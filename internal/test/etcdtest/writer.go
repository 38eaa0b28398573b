// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// writeTimeout is how long a write waits for its acknowledgement.
const writeTimeout = 2 * time.Second

// Writer writes to a cluster steadily to measure the cost of a change: how long
// no member acknowledged a write, and whether an acknowledged write was lost.
//
// It writes through every voter, with one client for each, and follows the
// member list. A write starts whether or not earlier ones were answered. Thus a
// write that hangs (because it was sent to a leader that died) is not mistaken
// for a cluster that accepts no writes.
type Writer struct {
	cfg      clientv3.Config
	interval time.Duration
	prefix   string // of all keys

	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	acks      []Write
	failures  int
	lastError error
	end       time.Time // zero until Stop
}

// Write is an acknowledged write.
type Write struct {
	Key, Value string
	Acked      time.Time
}

// Gap is a period without an acknowledged write.
type Gap struct{ From, To time.Time }

// Duration returns how long the gap is.
func (g Gap) Duration() time.Duration { return g.To.Sub(g.From) }

// String implements fmt.Stringer.
func (g Gap) String() string {
	return fmt.Sprintf("%v from %s", g.Duration().Round(time.Millisecond), g.From.Format("15:04:05.000"))
}

// NewWriter starts a writer to the cluster; see [NewWriter].
func (c *Cluster) NewWriter(tb TB, interval time.Duration) *Writer {
	tb.Helper()
	return NewWriter(tb, c.config(), interval)
}

// NewWriter starts a writer through the voters of the cluster that cfg reaches, at the
// client URLs that they advertise. It returns after the first acknowledged write. interval
// is the time between two writes through the same member, which grows if many writes wait
// for their answers. The writer runs until [Writer.Stop] or the end of the test.
func NewWriter(tb TB, cfg clientv3.Config, interval time.Duration) *Writer {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writer{cfg: cfg, interval: interval, prefix: "/etcdtest/writer/" + randomHex() + "/", cancel: cancel}
	tb.Cleanup(w.Stop)
	w.wg.Go(func() { w.follow(ctx) })
	Eventually(tb, "an acknowledged write", func() error {
		if failures, last := w.Failures(); len(w.acknowledged()) == 0 {
			return fmt.Errorf("%d writes failed, the last one: %w", failures, last)
		}
		return nil
	})
	return w
}

// follow runs a lane for each voter.
func (w *Writer) follow(ctx context.Context) {
	client := w.dialUntil(ctx, w.cfg.Endpoints...)
	if client == nil {
		return
	}
	defer func() { _ = client.Close() }()
	lanes := map[string]context.CancelFunc{}
	for ctx.Err() == nil {
		voters, err := w.voters(ctx, client)
		if err != nil {
			w.failed(err) // the lanes do not change
		} else {
			for _, url := range voters {
				if lanes[url] == nil {
					laneCtx, cancel := context.WithCancel(ctx)
					lanes[url] = cancel
					w.wg.Go(func() { w.lane(laneCtx, url) })
				}
			}
			for url, cancel := range lanes {
				if !slices.Contains(voters, url) {
					cancel()
					delete(lanes, url)
				}
			}
			client.SetEndpoints(voters...)
		}
		_ = clock.System{}.Sleep(ctx, 200*time.Millisecond)
	}
}

// voters returns the client URLs of the voters, one for each.
func (w *Writer) voters(ctx context.Context, client *clientv3.Client) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	list, err := client.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, m := range list.Members {
		if !m.IsLearner && len(m.ClientURLs) > 0 {
			urls = append(urls, m.ClientURLs[0])
		}
	}
	return urls, nil
}

// dialUntil creates a client. With a password this can take several attempts.
// It returns nil if ctx is done first.
func (w *Writer) dialUntil(ctx context.Context, endpoints ...string) *clientv3.Client {
	cfg := w.cfg
	cfg.Endpoints, cfg.Context = endpoints, ctx
	for ctx.Err() == nil {
		client, err := clientv3.New(cfg)
		if err == nil {
			return client
		}
		w.failed(err)
		_ = clock.System{}.Sleep(ctx, 50*time.Millisecond)
	}
	return nil
}

// lane writes through one member until ctx is done.
func (w *Writer) lane(ctx context.Context, url string) {
	client := w.dialUntil(ctx, url)
	if client == nil {
		return
	}
	defer func() { _ = client.Close() }()
	var begun sync.WaitGroup
	defer begun.Wait()
	var inFlight atomic.Int64
	for ctx.Err() == nil {
		inFlight.Add(1)
		begun.Go(func() {
			defer inFlight.Add(-1)
			w.put(ctx, client)
		})
		// The more writes wait for an answer, the slower the lane: a member
		// that comes back, and with a password requires all of them to log in
		// again, must not be overloaded.
		_ = clock.System{}.Sleep(ctx, w.interval*time.Duration(1+inFlight.Load()/8))
	}
}

func (w *Writer) put(ctx context.Context, client *clientv3.Client) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	write := Write{Key: w.prefix + randomHex(), Value: randomHex()}
	if _, err := client.Put(ctx, write.Key, write.Value); err != nil {
		w.failed(err)
		return
	}
	write.Acked = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end.IsZero() {
		w.acks = append(w.acks, write)
	}
}

func (w *Writer) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end.IsZero() {
		w.failures++
		w.lastError = err
	}
}

// Stop ends the writing. Further calls do nothing.
func (w *Writer) Stop() {
	w.mu.Lock()
	if w.end.IsZero() {
		w.end = time.Now()
	}
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
}

// acknowledged returns the acknowledged writes, roughly in the order of acknowledgement.
func (w *Writer) acknowledged() []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acks)
}

// Failures returns the number of failed calls and the latest error. A failed
// write may still have been applied.
func (w *Writer) Failures() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures, w.lastError
}

// LongestGap returns the longest period without an acknowledged write until Stop, or
// until now. It begins at from, or if that is zero at the first acknowledgement.
func (w *Writer) LongestGap(from time.Time) Gap {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end.IsZero() {
		end = time.Now()
	}
	return longestGap(w.acknowledged(), from, end)
}

func longestGap(acks []Write, from, end time.Time) Gap {
	acks = slices.SortedFunc(slices.Values(acks), func(a, b Write) int { return a.Acked.Compare(b.Acked) })
	if from.IsZero() && len(acks) > 0 {
		from = acks[0].Acked
	}
	var longest Gap
	for _, a := range append(acks, Write{Acked: end}) {
		if a.Acked.Before(from) {
			continue
		}
		if gap := (Gap{From: from, To: a.Acked}); gap.Duration() > longest.Duration() {
			longest = gap
		}
		from = a.Acked
	}
	return longest
}

// Lost reads all keys by a linearizable read, and returns the acknowledged writes that
// are missing.
func (w *Writer) Lost(ctx context.Context, client *clientv3.Client) ([]Write, error) {
	acks, found := w.acknowledged(), map[string]string{}
	kept, err := client.Get(ctx, w.prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("reading back what was written: %w", err)
	}
	for _, kv := range kept.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	return slices.DeleteFunc(acks, func(a Write) bool {
		value, ok := found[a.Key]
		return ok && value == a.Value
	}), nil
}
