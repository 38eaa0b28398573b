// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// registerInput is an operation on a key: a read, or a write of a value.
type registerInput struct {
	key   string
	write bool
	value string
}

// register is the model of a key: a read returns the last written value.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(registerInput).key
			byKey[key] = append(byKey[key], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in := input.(registerInput)
		if in.write {
			return true, in.value
		}
		return output == state, state
	},
}

// historian runs clients that continuously read and write the same few keys,
// and records their operations and results.
type historian struct {
	base   time.Time
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	prefix  string
	history []porcupine.Operation

	acknowledged, read, unknown int
}

// newHistorian starts n clients with the configuration; they end with the test.
func newHistorian(tb testing.TB, cfg func() clientv3.Config, n int, seed uint64) *historian {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &historian{base: time.Now(), cancel: cancel, prefix: "/soak/1/"}
	tb.Cleanup(func() { cancel(); h.wg.Wait() })
	for id := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(id)))
		h.wg.Go(func() {
			for ctx.Err() == nil {
				h.session(ctx, cfg(), id, rng)
			}
		})
	}
	return h
}

// session runs one client for a while. A new session uses the current endpoints.
func (h *historian) session(ctx context.Context, cfg clientv3.Config, id int, rng *rand.Rand) {
	client, err := clientv3.New(cfg)
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	for n := 0; n < 100 && ctx.Err() == nil; n++ {
		h.once(ctx, client, id, rng)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(20+rng.IntN(60)) * time.Millisecond):
		}
	}
}

// once reads or writes a key. A write with an unknown outcome can take effect
// at any time after its start. A failed read is ignored.
func (h *historian) once(ctx context.Context, client *clientv3.Client, id int, rng *rand.Rand) {
	h.mu.Lock()
	in := registerInput{key: fmt.Sprintf("%s%d", h.prefix, rng.IntN(4)), write: rng.IntN(2) == 0}
	h.mu.Unlock()
	in.value = fmt.Sprintf("%d-%x", id, rng.Uint64())
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	op := porcupine.Operation{ClientId: id, Input: in, Call: int64(time.Since(h.base))}
	var err error
	if in.write {
		_, err = client.Put(ctx, in.key, in.value)
	} else {
		var resp *clientv3.GetResponse
		if resp, err = client.Get(ctx, in.key); err == nil {
			op.Output = ""
			if len(resp.Kvs) > 0 {
				op.Output = string(resp.Kvs[0].Value)
			}
		}
	}
	op.Return = int64(time.Since(h.base))
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && in.write:
		op.Return = math.MaxInt64
		h.unknown++
	case err != nil:
		return
	case in.write:
		h.acknowledged++
	default:
		h.read++
	}
	h.history = append(h.history, op)
}

// chapter starts new keys. It returns the operations of chapters before the
// last two: operations still in progress belong to one of these two.
func (h *historian) chapter(number int) []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prefix = fmt.Sprintf("/soak/%d/", number)
	var done, rest []porcupine.Operation
	last, before := fmt.Sprintf("/soak/%d/", number-1), fmt.Sprintf("/soak/%d/", number-2)
	for _, op := range h.history {
		if key := op.Input.(registerInput).key; strings.HasPrefix(key, last) || strings.HasPrefix(key, before) {
			rest = append(rest, op)
		} else {
			done = append(done, op)
		}
	}
	h.history = rest
	return done
}

// mustBeLinearizable fails the test if no order of the operations explains the
// results that the clients saw.
func mustBeLinearizable(tb testing.TB, history []porcupine.Operation) {
	tb.Helper()
	switch result := porcupine.CheckOperationsTimeout(register, history, time.Minute); result {
	case porcupine.Ok:
	case porcupine.Unknown:
		tb.Errorf("whether a history of %d operations is linearizable could not be found out", len(history))
	default:
		tb.Errorf("not linearizable: a stale read or a lost write among %+v", history)
	}
}

// The checker accepts valid histories and rejects invalid ones.
func TestSoakHistory(t *testing.T) {
	write := func(value string, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", true, value}, Call: call, Return: end}
	}
	read := func(value string, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{key: "k"}, Output: value, Call: call, Return: end}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"in order":                       {[]porcupine.Operation{read("", 0, 1), write("x", 2, 3), read("x", 4, 5)}, true},
		"lost":                           {[]porcupine.Operation{write("x", 0, 1), read("", 2, 3)}, false},
		"stale":                          {[]porcupine.Operation{write("x", 0, 1), write("y", 2, 3), read("x", 4, 5)}, false},
		"either while it is under way":   {[]porcupine.Operation{write("x", 0, 9), read("", 1, 2), read("x", 3, 4)}, true},
		"back again":                     {[]porcupine.Operation{write("x", 0, 9), read("x", 1, 2), read("", 3, 4)}, false},
		"unknown, and seen later":        {[]porcupine.Operation{write("x", 0, math.MaxInt64), read("", 1, 2), read("x", 8, 9)}, true},
		"of another key":                 {[]porcupine.Operation{write("x", 0, 1), {Input: registerInput{key: "other"}, Output: "", Call: 2, Return: 3}}, true},
		"never written":                  {[]porcupine.Operation{read("x", 0, 1)}, false},
		"two that overlap, either order": {[]porcupine.Operation{write("x", 0, 5), write("y", 0, 5), read("x", 6, 7)}, true},
	} {
		if got := porcupine.CheckOperations(register, c.history); got != c.want {
			t.Errorf("%s: linearizable: %v, want %v", name, got, c.want)
		}
	}
}
