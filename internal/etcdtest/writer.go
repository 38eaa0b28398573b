// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// WriterOptions configure a [Writer].
type WriterOptions struct {
	// Interval is the time between two writes through the same member. It grows
	// if many writes wait for their answers. 0 means 10 ms.
	Interval time.Duration
	// Timeout is how long a write waits for its acknowledgement. 0 means 2 s.
	Timeout time.Duration
}

// Writer writes to a cluster steadily to measure the cost of a change: how long
// no member acknowledged a write, and whether an acknowledged write was lost.
//
// It writes through every voter, with one client for each, and follows the
// member list. A write starts whether or not earlier ones were answered. Thus a
// write that hangs (because it was sent to a leader that died) is not mistaken
// for a cluster that accepts no writes.
type Writer struct {
	cfg    clientv3.Config
	opts   WriterOptions
	prefix string // of all keys

	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	acks      []Write
	lanes     int
	failures  int
	lastError error
	end       time.Time // zero until Stop
}

// Write is an acknowledged write.
type Write struct {
	Key, Value string
	Revision   int64
	Sent       time.Time
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

// NewWriter starts a writer through the voters of the cluster and returns after the
// first acknowledged write. The writer runs until [Writer.Stop] or the end of the test.
func (c *Cluster) NewWriter(tb TB, opts WriterOptions) *Writer {
	tb.Helper()
	return NewWriter(tb, c.ClientConfig(), opts)
}

// NewWriter starts a writer for the cluster that cfg reaches. It dials the
// voters at the client URLs that they advertise. See [Cluster.NewWriter].
func NewWriter(tb TB, cfg clientv3.Config, opts WriterOptions) *Writer {
	tb.Helper()
	if opts.Interval == 0 {
		opts.Interval = 10 * time.Millisecond
	}
	if opts.Timeout == 0 {
		opts.Timeout = 2 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writer{cfg: cfg, opts: opts, prefix: "/etcdtest/writer/" + randomHex() + "/", cancel: cancel}
	tb.Cleanup(w.Stop)
	w.wg.Go(func() { w.follow(ctx) })
	ready, cancelReady := context.WithTimeout(ctx, WaitLimit)
	defer cancelReady()
	err := poll(ready, 5*time.Millisecond, func(context.Context) error {
		if failures, last := w.Failures(); len(w.Acknowledged()) == 0 {
			return fmt.Errorf("%d writes failed, the last one: %w", failures, last)
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("etcdtest: no write was acknowledged: %v", err)
	}
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
		} else if !slices.Equal(voters, slices.Sorted(maps.Keys(lanes))) {
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

// voters returns the sorted client URLs of the voters, one for each.
func (w *Writer) voters(ctx context.Context, client *clientv3.Client) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
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
	slices.Sort(urls)
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
	w.mu.Lock()
	w.lanes++
	lane := w.lanes
	w.mu.Unlock()

	var begun sync.WaitGroup
	defer begun.Wait()
	var inFlight atomic.Int64
	for n := 1; ctx.Err() == nil; n++ {
		inFlight.Add(1)
		begun.Go(func() {
			defer inFlight.Add(-1)
			w.put(ctx, client, fmt.Sprintf("%s%d/%08d", w.prefix, lane, n))
		})
		// The more writes wait for an answer, the slower the lane: a member
		// that comes back, and with a password requires all of them to log in
		// again, must not be overloaded.
		_ = clock.System{}.Sleep(ctx, w.opts.Interval*time.Duration(1+inFlight.Load()/8))
	}
}

func (w *Writer) put(ctx context.Context, client *clientv3.Client, key string) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	write := Write{Key: key, Value: randomHex(), Sent: time.Now()}
	resp, err := client.Put(ctx, key, write.Value)
	write.Acked = time.Now()
	if err != nil {
		w.failed(err)
		return
	}
	write.Revision = resp.Header.Revision
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

// Acknowledged returns the acknowledged writes, roughly in the order of
// acknowledgement.
func (w *Writer) Acknowledged() []Write {
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

// LongestGap returns the longest period without an acknowledged write, from the
// first acknowledgement until Stop, or until now.
func (w *Writer) LongestGap() Gap { return w.LongestGapSince(time.Time{}) }

// LongestGapSince is LongestGap starting at from.
func (w *Writer) LongestGapSince(from time.Time) Gap {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end.IsZero() {
		end = time.Now()
	}
	return longestGap(w.Acknowledged(), from, end)
}

// longestGap starts at the first acknowledgement if from is zero.
func longestGap(acks []Write, from, end time.Time) Gap {
	times := make([]time.Time, 0, len(acks)+1)
	for _, a := range acks {
		times = append(times, a.Acked)
	}
	slices.SortFunc(times, time.Time.Compare)
	if from.IsZero() && len(times) > 0 {
		from = times[0]
	}
	var longest Gap
	for _, t := range append(times, end) {
		if t.Before(from) {
			continue
		}
		if gap := (Gap{From: from, To: t}); gap.Duration() > longest.Duration() {
			longest = gap
		}
		from = t
	}
	return longest
}

// Lost reads all keys, by linearizable reads of one revision, and returns the
// acknowledged writes that are missing.
func (w *Writer) Lost(ctx context.Context, client *clientv3.Client) ([]Write, error) {
	acks := w.Acknowledged()
	found := map[string]string{}
	start, end := w.prefix, clientv3.GetPrefixRangeEnd(w.prefix)
	var revision int64
	for {
		page, err := client.Get(ctx, start, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(revision))
		if err != nil {
			return nil, fmt.Errorf("reading back what was written: %w", err)
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			found[string(kv.Key)] = string(kv.Value)
			start = string(kv.Key) + "\x00"
		}
		if !page.More {
			break
		}
	}
	return slices.DeleteFunc(acks, func(a Write) bool {
		value, ok := found[a.Key]
		return ok && value == a.Value
	}), nil
}
