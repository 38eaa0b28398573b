// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// idAt returns the ID of the member with that peer URL, started or not.
func (f *Fleet) idAt(peer string) uint64 {
	f.TB.Helper()
	for _, m := range f.Members("a", "b", "c") {
		if len(m.PeerURLs) == 1 && m.PeerURLs[0] == peer {
			return m.ID
		}
	}
	f.TB.Fatalf("%s is not in the list", peer)
	return 0
}

// Members whose clocks differ by hours and days behave like others: they form a
// cluster and add a member, also if the provider is killed in between and its lock has
// to expire, and each is replaced.
func TestAccClocksApart(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	apart := func(name string, offset time.Duration) {
		f.Nodes[name].Etcd = etcdtest.ClockBinary(t)
		f.Gate(name, fmt.Sprintf("CLOCK_OFFSET=%d", int(offset.Seconds())))()
	}
	apart("a", time.Hour)
	apart("b", -time.Hour)
	f.Form()
	f.Add("d")
	f.Nodes["d"].Etcd = etcdtest.ClockBinary(t)
	open := f.Gate("d", fmt.Sprintf("CLOCK_OFFSET=%d", int((10*24*time.Hour).Seconds())))
	run := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	for _, pid := range run.Providers() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	run.Wait().MustFail()
	id := f.idAt(f.Nodes["d"].Peer)
	if f.lock() == nil {
		t.Fatal("the lock is free, so nothing has to expire")
	}
	open()
	writer := f.Writer("a", "b", "c")
	f.Form()
	if now := f.MemberID("d"); now != id {
		t.Errorf("d was added as %x and is %x", id, now)
	}
	f.Image = "two"
	for range f.Nodes {
		f.Form()
	}
	f.MustNotPause(writer, Pause, f.names()...)
	f.Settled()
}
