// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// These tests hold the stores to real servers: other programs see our claims on the wire, and
// we see theirs.

// others is a store at a real server, and what others do there.
type others struct {
	*testing.T
	claim.Store
	put  func(value string, seconds int) // a key with a time to live, 0 for none
	drop func()
	sees func(want string) // the next change
	// events of the watch of the store
	events chan string
}

func (r *others) wants(lines ...string) {
	r.Helper()
	for _, want := range lines {
		select {
		case got := <-r.events:
			if got != want {
				r.Errorf("saw %q, want %q", got, want)
			}
		case <-time.After(etcdtest.WaitLimit):
			r.Fatalf("did not see %q", want)
		}
	}
}

// exchange is what both APIs do. ours are our changes on the wire.
func (r *others) exchange(ours ...string) {
	ctx := etcdtest.WaitContext(r)
	_, revision, err := r.List(ctx, "/running")
	must(r, err)
	watch, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Watch(watch, "/running", revision, func(e claim.Event) {
			r.events <- strings.Join([]string{string(e.Kind), e.Name, e.Value}, " ")
		}); err != nil {
			r.Errorf("watch: %v", err)
		}
	}()
	r.Cleanup(func() { end(); <-done })

	e, err := r.Create(ctx, key, "ours", 20*time.Second)
	must(r, err)
	e, err = r.Beat(ctx, e, 30*time.Second)
	must(r, err)
	must(r, r.Delete(ctx, e))
	_, err = r.Create(ctx, key, "ours", time.Second)
	must(r, err)
	for _, want := range ours {
		r.sees(want)
	}
	r.wants("started web1 ours", "beat web1 ours", "stopped web1 ours", "started web1 ours", "missed web1 ours")

	r.put("theirs", 20)
	_, err = claim.Start(ctx, r, realTime{}, claim.Options{Key: key, Value: "ours", TTL: 20 * time.Second})
	var held *claim.HeldError
	if !errors.As(err, &held) || held.Entry.Value != "theirs" || held.Entry.Left <= 0 || held.Entry.Left > 20*time.Second {
		r.Errorf("our claim: %v, want held", err)
	}
	r.put("theirs", 20)
	r.drop()
	r.put("theirs", 1)
	r.wants("started web1 theirs", "beat web1 theirs", "stopped web1 theirs", "started web1 theirs", "missed web1 theirs")
	r.put("theirs", 0)
	if entries, _, err := r.List(ctx, "/running"); err != nil || len(entries) != 1 || !entries[0].Forever || entries[0].Left != 0 {
		r.Errorf("listed %+v, %v", entries, err)
	}
	r.drop()
	r.wants("started web1 theirs", "stopped web1 theirs")
}

func must(t *others, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExchangeV2(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.WithV2() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, V2: true})
			r := &others{T: t, Store: storeAt(t, "v2", &connection.Pool{}, b.Endpoints()...), events: make(chan string, 100)}
			keys, err := (&connection.Pool{}).KeysV2(t.Context(), connection.Settings{Endpoints: b.Endpoints()}, b.Endpoints()[0])
			must(r, err)
			ctx := etcdtest.WaitContext(t)
			watcher := keys.Watcher(key, &clientv2.WatcherOptions{AfterIndex: 1})
			r.sees = func(want string) {
				t.Helper()
				resp, err := watcher.Next(ctx)
				must(r, err)
				if got := fmt.Sprint(resp.Action, " ", resp.Node.Value, " ", resp.Node.TTL); got != want {
					t.Errorf("others see %q, want %q", got, want)
				}
			}
			r.put = func(value string, seconds int) {
				_, err := keys.Set(ctx, key, value, &clientv2.SetOptions{TTL: time.Duration(seconds) * time.Second})
				must(r, err)
			}
			r.drop = func() {
				_, err := keys.Delete(ctx, key, nil)
				must(r, err)
			}
			r.exchange("create ours 20", "compareAndSwap ours 30", "compareAndDelete  0", "create ours 1", "expire  0")
		})
	}
}

// On the v3 API the others are etcdctl, which puts and deletes by hand. Our beats write the
// key with its lease, which outlives a stop.
func TestExchangeV3(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v})
			r := &others{T: t, Store: storeAt(t, "v3", &connection.Pool{}, b.Endpoints()...), events: make(chan string, 100)}
			client, ctx := b.Client(t), etcdtest.WaitContext(t)
			answers := client.Watch(ctx, "/running/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
			<-answers
			var pending []*clientv3.Event
			leases := map[int64]bool{}
			r.sees = func(want string) {
				t.Helper()
				if len(pending) == 0 {
					pending = (<-answers).Events
				}
				e := pending[0]
				pending = pending[1:]
				got := fmt.Sprint(e.Type, " ", e.IsCreate(), " ", string(e.Kv.Value))
				if got != want {
					t.Errorf("others see %q, want %q", got, want)
				}
				if e.Kv.Lease != 0 {
					leases[e.Kv.Lease] = true
				}
			}
			ctl := func(args ...string) string {
				t.Helper()
				out, err := b.Etcdctl(args...)
				must(r, err)
				return out
			}
			r.put = func(value string, seconds int) {
				args := []string{"put", key, value}
				if seconds > 0 {
					out := ctl("lease", "grant", fmt.Sprint(seconds))
					args = append(args, "--lease="+regexp.MustCompile(`[0-9a-f]{8,}`).FindString(out))
				}
				ctl(args...)
			}
			r.drop = func() { ctl("del", key) }
			r.exchange("PUT true ours", "PUT false ours", "DELETE false ", "PUT true ours", "DELETE false ")
			if len(leases) != 2 {
				t.Errorf("our claims had the leases %v, want one each", leases)
			}
		})
	}
}
