// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

func quiet(reconfigure.Step) {}

// A lock without a lease never becomes free by itself: every change fails at
// once, with the command that deletes the key. After that the changes succeed.
func TestALockThatDoesNotExpire(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	key := b.put(t, "lock", "hands off")
	d := b.NewJoiner(t, "d")
	leave, replace := b.leaveRequest(t, "infra2"), b.replace(t, "infra2")
	paused := countPauses(b.engine)
	for name, change := range map[string]func() error{
		"add": func() error {
			_, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
			return err
		},
		"remove":  func() error { _, err := b.engine.Leave(etcdtest.WaitContext(t), leave); return err },
		"replace": func() error { _, err := b.engine.Leave(etcdtest.WaitContext(t), replace); return err },
		"update": func() error {
			_, err := b.engine.UpdatePeerURLs(etcdtest.WaitContext(t), reconfigure.UpdateRequest{
				ID: leave.ID, Cluster: leave.Cluster, Name: "infra2", PeerURLs: []string{"http://127.0.0.1:1"},
			})
			return err
		},
		"defragment": func() error {
			return b.engine.Defragment(t.Context(), reconfigure.DefragmentRequest{Limit: time.Minute}, quiet)
		},
	} {
		_ = paused.since()
		err := change()
		if !errors.Is(err, claim.ErrForever) {
			t.Errorf("%s: %v", name, err)
		}
		if n := paused.since(); n > few {
			t.Errorf("%s: only after %d pauses", name, n)
		}
		want := `The lock on membership changes is held by the process that wrote "hands off" to ` + key + ", and it does not expire: it has no time to live, " +
			"so this provider did not make it. Nothing was changed. If no other run is active, delete it, then apply again:\n\n  etcdctl del " + key
		if got := text.Explain("add", "d", err).Detail; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	if m := b.members(t); len(m) != 3 || lockValue(t, b) != "hands off" {
		t.Errorf("the members are %v, the lock is %q", m, lockValue(t, b))
	}
	if _, err := b.Client(t).Delete(etcdtest.WaitContext(t), key); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), leave); err != nil {
		t.Error(err)
	}
}

// Defragmentation waits at most the time for one member: for another process,
// for another change in its own process, and for the cluster.
func TestDefragmentationDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	mustEnd := func(what string, want func(error) bool) {
		t.Helper()
		limit := time.Second
		etcdtest.Eventually(t, what, func() error {
			limit *= 2 // a busy machine needs more
			if err := b.engine.Defragment(etcdtest.WaitContext(t), reconfigure.DefragmentRequest{Limit: limit}, quiet); !want(err) {
				return fmt.Errorf("within %v: %w", limit, cmp.Or(err, errors.New("no error")))
			}
			return nil
		})
	}
	held, err := b.process(t, "bob@ops2", claim.LockTTL).Locker.Acquire(etcdtest.WaitContext(t), b.id(t), "remove member infra9", nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd("another process", func(err error) bool {
		var busy *claim.BusyError
		return errors.As(err, &busy) && busy.Holder.Who == "bob@ops2"
	})
	if err := held.Stop(etcdtest.WaitContext(t)); err != nil {
		t.Fatal(err)
	}
	unlock, err := b.engine.Process.Lock(etcdtest.WaitContext(t), b.id(t))
	if err != nil {
		t.Fatal(err)
	}
	mustEnd("this process", func(err error) bool { return errors.As(err, new(*reconfigure.Queued)) })
	unlock()
	mustEnd("nothing", func(err error) bool { return err == nil })
	for _, p := range b.Members()[:2] {
		p.Freeze()
		defer p.Thaw()
	}
	mustEnd("the cluster", func(err error) bool { return err != nil })
}
