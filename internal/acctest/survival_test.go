// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A client certificate expires while a member joins: the error says so, the
// added member is not lost, and with a new certificate the next apply completes
// the join.
func TestAccCertificateExpires(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	f := NewFleet(t, FleetOptions{TLS: pki})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Create = "10m"
	open := f.Gate("d")
	const valid = 20 * time.Second
	expires := time.Now().Add(valid)
	f.Write("provider.tf", f.providerBlock(pki.ExpiringClient("root", valid)))
	run := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	time.Sleep(time.Until(expires) + time.Second) // certificates have a resolution of seconds
	// Connections survive; new ones are necessary after the members restart.
	for _, name := range []string{"a", "b", "c"} {
		f.Signal(name, syscall.SIGKILL)
		f.MustServe(name)
	}
	open()
	e := run.Wait().MustSay("Cannot add member d")
	if !strings.Contains(e.Detail, "certificate") || !strings.Contains(e.Detail, "expired") {
		t.Errorf("it does not say why: %s", e)
	}
	id := f.idAt(f.Nodes["d"].Peer)

	f.Write("provider.tf", f.providerBlock(f.Options.certificate()))
	f.Form()
	if now := f.MemberID("d"); now != id {
		t.Errorf("d was added as %x and is %x", id, now)
	}
	f.Settled()
}

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

// The database of the cluster fills up while a member joins: the member stays, no
// quorum is lost, and when there is space again, the next apply completes the join.
func TestAccQuotaDuringJoin(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	const quota = 1 << 20
	f.MachineEnv["ETCD_QUOTA_BACKEND_BYTES"] = fmt.Sprint(quota)
	f.Form()
	f.Add("d")
	f.Nodes["d"].Create = "45s"
	// A learner cannot be defragmented, and raises an alarm if it exceeds its quota.
	open := f.Gate("d", "ETCD_QUOTA_BACKEND_BYTES=0")
	run := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	client := f.Client("a")
	ctx := etcdtest.WaitContext(t)
	var full error
	for i := 0; full == nil; i++ {
		_, full = client.Put(ctx, fmt.Sprintf("fill/%d", i), strings.Repeat("x", 100_000))
	}
	if !strings.Contains(full.Error(), "database space exceeded") {
		t.Fatal(full)
	}
	open()
	if o := run.Wait(); o.ExitCode != 0 && !strings.Contains(o.Report(), "NOSPACE") {
		t.Errorf("it does not say why:\n%s", o.Report())
	}
	id := f.idAt(f.Nodes["d"].Peer)
	f.makeRoom(client, quota/4)
	f.Form()
	if now := f.MemberID("d"); now != id {
		t.Errorf("d was added as %x and is %x", id, now)
	}
	f.Settled()
}

// makeRoom empties the databases of a, b and c until they are smaller.
func (f *Fleet) makeRoom(client *clientv3.Client, size int64) {
	f.TB.Helper()
	ctx := etcdtest.WaitContext(f.TB)
	if _, err := client.Delete(ctx, "fill/", clientv3.WithPrefix()); err != nil {
		f.TB.Fatal(err)
	}
	status, err := client.Status(ctx, f.Nodes["a"].Client)
	if err != nil {
		f.TB.Fatal(err)
	}
	if _, err := client.Compact(ctx, status.Header.Revision); err != nil {
		f.TB.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		c := f.Client(name)
		// Members compact at different times.
		etcdtest.Eventually(f.TB, name+" has room", func() error {
			if _, err := c.Defragment(ctx, f.Nodes[name].Client); err != nil {
				return err
			}
			status, err := c.Status(ctx, f.Nodes[name].Client)
			if err == nil && status.DbSize > size {
				err = fmt.Errorf("%d bytes", status.DbSize)
			}
			return err
		})
	}
	// Disarm all alarms: each member raises its own.
	if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		f.TB.Fatal(err)
	}
}

// A corrupt member is replaced with its machine. Its successor is added after the alarm,
// which persists after the removal of the member, was disarmed.
func TestAccCorruptMember(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	b := f.MemberID("b")
	client := f.Client("a")
	etcdtest.RaiseCorrupt(t, client, b)

	e := f.Apply("-replace=" + machine("b")).MustSay("Cannot add member b")
	e.MustContain(t, e.Summary, fmt.Sprintf("%x", b), "CORRUPT", "\n\n  etcdctl alarm disarm")
	f.MustVote("a", "c")
	if _, err := client.AlarmDisarm(etcdtest.WaitContext(t), &clientv3.AlarmMember{MemberID: b, Alarm: pb.AlarmType_CORRUPT}); err != nil {
		t.Fatal(err)
	}
	f.Form()
	f.Settled()
}
