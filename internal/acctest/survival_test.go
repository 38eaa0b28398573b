// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A slow discovery cluster only takes more time. If it stops answering after
// the token was created and before a member has registered, the errors say so,
// and the next apply continues with the same token.
func TestAccSlowRegistry(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	w := newWires(t)
	f.RegistryURL = w.link("registry", f.Registry.Endpoints()[0])

	t.Log("it falls silent once it holds the token")
	f.Apply("-target=etcd_discovery_token.this").MustSucceed()
	token := f.State("etcd_discovery_token.this")["token"]
	w.disturb("registry", "cut")
	p := f.Plan()
	if p.ExitCode == 1 {
		t.Fatalf("a silent registry ends the plan:\n%s", p.Report())
	}
	if action, ok := p.Actions()["etcd_discovery_token.this"]; ok {
		t.Errorf("the token would change: %s", action)
	}

	t.Log("it answers, slowly")
	w.heal("registry")
	w.disturb("registry", "slow")
	f.Form()
	f.MustVote("a", "b", "c")
	if now := f.State("etcd_discovery_token.this")["token"]; now != token {
		t.Errorf("the token was %v and is %v", token, now)
	}
	f.Plan().MustBeEmpty()
}

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
	f.Write("provider.tf", f.providerBlockWith(pki.ExpiringClient("root", valid)))
	run := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	time.Sleep(time.Until(expires) + time.Second) // certificates have a resolution of seconds
	// Connections survive; new ones are necessary after the members restart.
	for _, name := range []string{"a", "b", "c"} {
		f.Signal(name, syscall.SIGKILL)
		etcdtest.Eventually(t, name+" is back", func() error { return answers(t, f.ClientConfig(name)) })
	}
	open()
	e := run.Wait().MustSay("Cannot add member d")
	if !strings.Contains(e.Detail, "certificate") || !strings.Contains(e.Detail, "expired") {
		t.Errorf("it does not say why: %s", e)
	}
	id := f.idOf("d", f.Nodes["d"].Peer)

	f.Write("provider.tf", f.providerBlock())
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c", "d")
	if now := f.idOf("d", f.Nodes["d"].Peer); now != id {
		t.Errorf("d was announced as %x and is %x", id, now)
	}
	f.Plan().MustBeEmpty()
}

// Members whose clocks differ by hours and days behave like others: they form a
// cluster, add a member, also if the provider is killed in between and its lock
// has to expire, lose their leader and are destroyed.
func TestAccClocksApart(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.SetClock("a", time.Hour)()
	f.SetClock("b", -time.Hour)()
	f.Form()
	for name, want := range map[string]time.Duration{"a": time.Hour, "b": -time.Hour, "c": 0} {
		started, begun := f.Log(name, "starting an etcd server")[0], f.Events(name)[0].At
		if off := started.At.Sub(begun).Abs(); off > time.Minute {
			t.Errorf("the clock of %s is not off by %v, but by %v more or less", name, want, off)
		}
	}

	f.Add("d")
	open := f.SetClock("d", 10*24*time.Hour)
	run := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	for _, pid := range run.Providers() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	run.Wait().MustFail()
	id := f.idOf("d", f.Nodes["d"].Peer)
	if f.lock() == nil {
		t.Fatal("nobody holds the lock, so nothing has to expire")
	}
	open()
	writer := f.Writer("a", "b", "c")
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, "a", "b", "c")
	f.MustVote("a", "b", "c", "d")
	if now := f.idOf("d", f.Nodes["d"].Peer); now != id {
		t.Errorf("d was announced as %x and is %x", id, now)
	}
	f.Plan().MustBeEmpty()

	members := []string{"a", "b", "c", "d"}
	members = remove(t, f, members, f.Leader(members...))
	f.Plan().MustBeEmpty()
	MustForgetLast(t, f.Destroy().MustSucceed(), members...)
	f.MustBeGone()
}

// idOf returns the ID of the member with that peer URL, started or not.
func (f *Fleet) idOf(name, peer string) uint64 {
	f.TB.Helper()
	for _, m := range f.Members("a", "b", "c") {
		if len(m.PeerURLs) == 1 && m.PeerURLs[0] == peer {
			return m.ID
		}
	}
	f.TB.Fatalf("%s is not in the list", name)
	return 0
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
	if o := run.Wait(); o.ExitCode != 0 {
		errors := o.Errors()
		if len(errors) != 1 || !strings.Contains(errors[0].Detail, "NOSPACE") {
			t.Errorf("it does not say why:\n%s", o.Report())
		}
	}
	id := f.idOf("d", f.Nodes["d"].Peer)

	t.Log("room again")
	if _, err := client.Delete(ctx, "fill/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	status, err := client.Status(ctx, f.Nodes["a"].dial())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(ctx, status.Header.Revision); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		c := f.Client(name)
		// Members compact at different times.
		etcdtest.Eventually(t, name+" has room", func() error {
			if _, err := c.Defragment(ctx, f.Nodes[name].dial()); err != nil {
				return err
			}
			status, err := c.Status(ctx, f.Nodes[name].dial())
			if err == nil && status.DbSize > quota/4 {
				err = fmt.Errorf("%d bytes", status.DbSize)
			}
			return err
		})
	}
	// Disarm all alarms: each member raises its own.
	if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c", "d")
	if now := f.idOf("d", f.Nodes["d"].Peer); now != id {
		t.Errorf("d was announced as %x and is %x", id, now)
	}
	f.Plan().MustBeEmpty()
}
