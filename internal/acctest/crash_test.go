// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// If a run ends for any reason after it added the member and before it wrote the state,
// the next run completes the join, and there is never a second member of the name.
// (For other ends than the kill of the CLI see [TestAccCrashMatrix]; here with
// ETCD_TEST_FULL=1.)
func TestAccCrashAfterAnnouncement(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(r *Running){
		"CLI killed": func(r *Running) { r.Kill() },
		"provider killed": func(r *Running) {
			for _, pid := range r.Providers() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		},
		"interrupted": func(r *Running) { r.Interrupt() },
	} {
		if how != "CLI killed" && !etcdtest.Full() {
			continue
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
			f.Form()
			open := announceOnly(t, f, end)
			id := announced(t, f)
			open()
			f.Plan().MustDo(map[string]string{Address("etcd_member", "d"): "create"})
			f.Apply().MustSucceed()
			f.MustVote("a", "d")
			if now := fmt.Sprint(f.State(Address("etcd_member", "d"))["id"]); now != id {
				t.Errorf("d is %s, and %s was announced", now, id)
			}
			f.Plan().MustBeEmpty()
			f.MustHaveRecords("d")
		})
	}
}

// If not even the configuration is in the state (a remote state that is written
// from time to time, or that of a CLI that writes it only at the end), the next
// run creates another one and adopts the member that the first run added.
func TestAccCrashWithoutState(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}, Static: true})
	f.Form()
	before := f.Read("terraform.tfstate")
	f.Add("d")
	open := f.Gate("d")
	run := f.Start("apply")
	f.awaitAnnouncement()
	run.Kill()
	id := announced(t, f)
	f.Write("terraform.tfstate", before)
	lost := f.Records()

	f.Plan().MustDo(Changes("d", "create"))
	second := f.Start("apply")
	etcdtest.Eventually(t, "the announcement is taken over", func() error {
		if fmt.Sprint(f.Records()) == fmt.Sprint(lost) {
			return fmt.Errorf("on record are %v", lost)
		}
		return nil
	})
	open()
	second.Wait().MustSucceed()
	f.MustVote("a", "d")
	if now := fmt.Sprint(f.State(Address("etcd_member", "d"))["id"]); now != id {
		t.Errorf("d is %s, and %s was announced", now, id)
	}
	f.MustHaveRecords("d")
	f.Plan().MustBeEmpty()
	MustForgetLast(t, f.Destroy().MustSucceed(), "a", "d")
	f.MustBeGone()
}

// awaitAnnouncement returns when d is added and recorded.
func (f *Fleet) awaitAnnouncement() {
	f.TB.Helper()
	f.WaitList("a", "a", "? (learner)")
	etcdtest.Eventually(f.TB, "the announcement is on record", func() error {
		for _, r := range f.Records() {
			if r.Name == "d" && r.State == "announced" {
				return nil
			}
		}
		return fmt.Errorf("%v", f.Records())
	})
}

// If the operator gives up the join instead, the destroy of the configuration
// removes the member that was added for it.
func TestAccBackstop(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	_ = announceOnly(t, f, (*Running).Kill)
	announced(t, f)
	f.Drop("d")
	f.Plan().MustDo(map[string]string{
		Address("etcd_member_config", "d"):     "delete",
		Address("terraform_data.machine", "d"): "delete",
	})
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a")
	f.MustHaveRecords()
}

// A record that this version cannot read is not silently ignored: the
// configuration, the record and the learner stay until the printed command has
// been run.
func TestAccBackstopOfAMalformedRecord(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	_ = announceOnly(t, f, (*Running).Kill)
	announced(t, f)
	f.ExpireLock()
	f.Drop("d")
	ctx := etcdtest.WaitContext(t)
	client := f.Client("a")
	got, err := client.Get(ctx, metadataKey(ctx, t, client, "members/"), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	key := ""
	for _, kv := range got.Kvs {
		if strings.Contains(string(kv.Value), `"name":"d"`) {
			key = string(kv.Key)
		}
	}
	if _, err := client.Put(ctx, key, `{"format":2,"owner":"d","state":"moved"}`); err != nil {
		t.Fatal(err)
	}
	said := f.Apply().MustSay("Cannot remove member d")
	said.MustContain(t, "Cannot remove member d", "A newer version of the provider wrote the ownership record "+key+" (format 2).",
		"\n\n  terraform init -upgrade\n\n", "\n  etcdctl del "+key)
	f.MustList("a", "? (learner)")
	if f.State(Address("etcd_member_config", "d")) == nil {
		t.Error("the configuration is gone")
	}
	if got, err := client.Get(ctx, key); err != nil || got.Count != 1 {
		t.Errorf("the record: %v, %v", got, err)
	}
	if _, err := client.Delete(ctx, key); err != nil { // the printed command
		t.Fatal(err)
	}
	f.Apply().MustSucceed()
	f.MustList("a", "? (learner)") // it has no owner, as the text says
}

// announceOnly adds d, whose etcd does not start, and ends the run after it has
// added the member. open lets etcd start. A separate run creates the machine,
// because not every CLI has written the state when it is killed.
func announceOnly(t *testing.T, f *Fleet, end func(r *Running)) (open func()) {
	t.Helper()
	f.Add("d")
	open = f.Gate("d")
	f.Nodes["d"].Joins = "not yet"
	f.Apply().MustSucceed()
	f.Nodes["d"].Joins = ""
	run := f.Start("apply")
	f.awaitAnnouncement()
	end(run)
	if o := run.Wait(); o.ExitCode == 0 {
		t.Fatal("the run ended as if nothing had happened")
	}
	if s := f.State(Address("etcd_member", "d")); s != nil {
		t.Fatalf("the member is in the state: %v", s)
	}
	return open
}

// announced returns the ID of the learner.
func announced(t *testing.T, f *Fleet) string {
	t.Helper()
	f.MustList("a", "? (learner)")
	for _, m := range f.Members("a") {
		if m.IsLearner {
			return fmt.Sprintf("%x", m.ID)
		}
	}
	return ""
}
