// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"errors"
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

func keysAPI(t *testing.T, b *etcdtest.Cluster) clientv2.KeysAPI {
	t.Helper()
	keys, err := (&connection.Pool{}).KeysV2(t.Context(), settings(b.Endpoints()), b.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// A program of the v2 era sees these steps of our claim on the wire: the
// action, the value and the time to live.
func TestOthersSeeOurBeatsV2(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	s, _ := storeAt("v2", b.Endpoints())
	ctx := etcdtest.WaitContext(t)
	watcher := keysAPI(t, b).Watcher("/running", &clientv2.WatcherOptions{AfterIndex: 1, Recursive: true})
	sees := func(action, value string, seconds int64) {
		t.Helper()
		for {
			resp, err := watcher.Next(ctx)
			if err != nil {
				t.Fatalf("waiting for %s: %v", action, err)
			}
			if resp.Node.Key != key {
				continue // the directory
			}
			if resp.Action != action || resp.Node.Value != value || resp.Node.TTL != seconds {
				t.Errorf("seen: %s of %q with %d s to live, want %s of %q with %d s", resp.Action, resp.Node.Value, resp.Node.TTL, action, value, seconds)
			}
			return
		}
	}
	e, err := s.Create(ctx, key, "1", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	sees("create", "1", 20)
	if e, err = s.Beat(ctx, e, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	sees("compareAndSwap", "1", 30)
	if err := s.Delete(ctx, e); err != nil {
		t.Fatal(err)
	}
	sees("compareAndDelete", "", 0)
	if _, err := s.Create(ctx, key, "3", time.Second); err != nil {
		t.Fatal(err)
	}
	sees("create", "3", 1)
	sees("expire", "", 0)
}

// The provider sees the beats of a program of the v2 era as claims.
func TestWeSeeOthersBeatsV2(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	s, _ := storeAt("v2", b.Endpoints())
	keys, ctx := keysAPI(t, b), etcdtest.WaitContext(t)
	_, revision, err := s.List(ctx, "/running")
	if err != nil {
		t.Fatal(err)
	}
	watch := newWatch(t, s, "/running", revision)
	set := func(value string, o clientv2.SetOptions) {
		t.Helper()
		if _, err := keys.Set(ctx, key, value, &o); err != nil {
			t.Fatal(err)
		}
	}
	set("theirs", clientv2.SetOptions{PrevExist: clientv2.PrevNoExist, TTL: 20 * time.Second})
	watch.wants(t, "started web1 theirs")
	_, err = claim.Start(ctx, s, realTime{}, claim.Options{Key: key, Value: "ours", TTL: 20 * time.Second})
	var held *claim.HeldError
	if !errors.As(err, &held) || held.Entry.Value != "theirs" || held.Entry.Left < 15*time.Second {
		t.Errorf("our claim: %v, want held", err)
	}
	set("theirs", clientv2.SetOptions{PrevValue: "theirs", TTL: 20 * time.Second})
	watch.wants(t, "beat web1 theirs")
	set("theirs", clientv2.SetOptions{TTL: 20 * time.Second}) // without a comparison
	watch.wants(t, "beat web1 theirs")
	if _, err := keys.Delete(ctx, key, &clientv2.DeleteOptions{PrevValue: "theirs"}); err != nil {
		t.Fatal(err)
	}
	watch.wants(t, "stopped web1 theirs")
	set("theirs", clientv2.SetOptions{PrevExist: clientv2.PrevNoExist, TTL: time.Second})
	watch.wants(t, "started web1 theirs", "missed web1 theirs")
	set("theirs", clientv2.SetOptions{}) // a key that does not expire
	watch.wants(t, "started web1 theirs")
	if entries, _, err := s.List(ctx, "/running"); err != nil || len(entries) != 1 || !entries[0].Forever || entries[0].Left != 0 {
		t.Errorf("listed %+v, %v", entries, err)
	}
	if _, err := keys.Delete(ctx, key, nil); err != nil {
		t.Fatal(err)
	}
	watch.wants(t, "stopped web1 theirs")
}

// On the v3 API the provider sees the manual steps of etcdctl as claims:
// etcdctl keeps a lease alive, then deletes the key or lets the lease run out.
func TestWeSeeOthersBeatsV3(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v})
			s, closeAll := storeAt("v3", b.Endpoints())
			t.Cleanup(closeAll)
			ctx := etcdtest.WaitContext(t)
			_, revision, err := s.List(ctx, "/running")
			if err != nil {
				t.Fatal(err)
			}
			watch := newWatch(t, s, "/running", revision)
			ctl := func(args ...string) string {
				t.Helper()
				out, err := b.Etcdctl(args...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			lease := func(seconds string) string {
				t.Helper()
				out := ctl("lease", "grant", seconds)
				id := regexp.MustCompile(`[0-9a-f]{8,}`).FindString(out)
				if id == "" {
					t.Fatal(out)
				}
				return "--lease=" + id
			}
			long := lease("20")
			ctl("put", long, key, "theirs")
			watch.wants(t, "started web1 theirs")
			_, err = claim.Start(ctx, s, realTime{}, claim.Options{Key: key, Value: "ours", TTL: 20 * time.Second})
			var held *claim.HeldError
			if !errors.As(err, &held) || held.Entry.Value != "theirs" || held.Entry.Left < 10*time.Second {
				t.Errorf("our claim: %v, want held", err)
			}
			ctl("put", long, key, "theirs")
			watch.wants(t, "beat web1 theirs")
			ctl("del", key)
			watch.wants(t, "stopped web1 theirs")
			ctl("put", lease("1"), key, "theirs")
			watch.wants(t, "started web1 theirs", "missed web1 theirs")
			ctl("put", key, "theirs")
			watch.wants(t, "started web1 theirs")
			if e, ok, err := s.Get(ctx, key); err != nil || !ok || !e.Forever {
				t.Errorf("got %+v, %v", e, err)
			}
			ctl("del", key)
			watch.wants(t, "stopped web1 theirs")
		})
	}
}

// On the v3 API, others see our claim as a key with its own lease. Every beat
// writes the key, and a stop deletes it while the lease is alive.
func TestOthersSeeOurBeatsV3(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	s, closeAll := storeAt("v3", b.Endpoints())
	t.Cleanup(closeAll)
	client, ctx := b.Client(t), etcdtest.WaitContext(t)
	watch, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	answers := client.Watch(watch, "/running/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-answers
	sees := func(want string) *clientv3.Event {
		t.Helper()
		answer, ok := <-answers
		if !ok || len(answer.Events) != 1 {
			t.Fatalf("waiting for %s: %+v", want, answer)
		}
		e := answer.Events[0]
		what := "delete"
		switch {
		case e.IsCreate():
			what = "create"
		case e.IsModify():
			what = "modify"
		}
		if got := strings.Join([]string{what, string(e.Kv.Key), string(e.Kv.Value)}, " "); got != want {
			t.Errorf("seen: %s, want %s", got, want)
		}
		return e
	}
	e, err := s.Create(ctx, key, "1", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	lease := clientv3.LeaseID(sees("create /running/web1 1").Kv.Lease)
	if e, err = s.Beat(ctx, e, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if now := clientv3.LeaseID(sees("modify /running/web1 1").Kv.Lease); now != lease || lease == 0 {
		t.Errorf("the beat has lease %x, the claim %x", now, lease)
	}
	if err := s.Delete(ctx, e); err != nil {
		t.Fatal(err)
	}
	sees("delete /running/web1 ")
	if left, err := client.TimeToLive(ctx, lease); err != nil || left.TTL < 10 || left.GrantedTTL != 20 {
		t.Errorf("the lease after the stop: %+v, %v", left, err)
	}
}
