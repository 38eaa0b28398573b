// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// nowhere is a peer URL without a server, at which no process of this computer
// can listen.
const nowhere = "http://10.255.0.9:2380"

// A wrong peer URL causes only an error: the learner never starts, writes
// continue, and correcting the configuration corrects the cluster. (With
// ETCD_TEST_FULL=1 on both sizes of cluster.)
func TestAccWrongPeerURL(t *testing.T) {
	t.Parallel()
	for _, founders := range [][]string{{"a"}, {"a", "b", "c"}} {
		if len(founders) == 3 || full() {
			wrongPeerURL(t, founders)
		}
	}
}

func wrongPeerURL(t *testing.T, founders []string) {
	t.Run(fmt.Sprintf("on %d", len(founders)), func(t *testing.T) {
		t.Parallel()
		f := NewFleet(t, FleetOptions{Founders: founders})
		f.Form()
		f.Add("d")
		right := f.Nodes["d"].Peer
		f.Nodes["d"].Peer = nowhere
		wrongURL(t, f, founders)
		f.Nodes["d"].Peer = right
		f.Plan().MustDo(map[string]string{
			address("etcd_member_config", "d"):     "delete create",
			address("terraform_data.machine", "d"): "delete create",
			address("etcd_member", "d"):            "create",
		})
		corrected(t, f, founders)
	})
}

// wrongURL applies, and expects the error within the timeout.
func wrongURL(t *testing.T, f *Fleet, founders []string) {
	t.Helper()
	const limit = 8 * time.Second
	f.Nodes["d"].Create = limit.String()
	writer := f.Writer(founders...)
	failed := f.Apply()
	f.mustNotPause(writer, pause, founders...)
	e := failed.MustSay("Member d did not join in time")
	took := failed.At("apply_errored", address("etcd_member", "d"), "create").Sub(failed.At("apply_start", address("etcd_member", "d"), "create"))
	if took > limit+3*time.Second {
		t.Errorf("the error came after %v, the timeout is %v", took, limit)
	}
	f.MustList(append([]string{"? (learner)"}, founders...)...)
	id := ""
	for _, m := range f.Members(founders...) {
		if m.IsLearner {
			id = fmt.Sprintf("%x", m.ID)
		}
	}
	e.mustContain(t, e.Summary, fmt.Sprintf("d (%s) was added with peer URLs %s as a learner and has not started. The quorum of the cluster has not changed. "+
		"Look at the log of its process: it must run with this name, these peer URLs and the cluster's present members.", id, nowhere), "member count is unequal",
		"It is recorded as added by this configuration: apply again to continue, or destroy the configuration to remove it.")
	if s := f.State(address("etcd_member", "d")); s != nil {
		t.Errorf("the member is in the state: %v", s)
	}
}

// corrected applies the corrected configuration.
func corrected(t *testing.T, f *Fleet, founders []string) {
	t.Helper()
	f.Nodes["d"].Create = "60s"
	writer := f.Writer(founders...)
	f.Apply().MustSucceed().MustBeQuiet()
	f.mustNotPause(writer, pause, founders...)
	f.MustVote(append([]string{"d"}, founders...)...)
	f.Plan().MustBeEmpty()
	f.mustHaveRecords(t, "d")
}

// mustHaveRecords fails the test unless each of these has exactly one ownership
// record, and no other member has one except initial members.
func (f *Fleet) mustHaveRecords(t *testing.T, names ...string) {
	t.Helper()
	got := map[string]int{}
	for _, record := range f.records() {
		if !slices.Contains(f.Founders, record.Name) || record.State != "announced" {
			got[record.Name]++
		}
	}
	for _, name := range names {
		if got[name] != 1 {
			t.Errorf("%d ownership records of %s, want 1", got[name], name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("ownership records that nobody needs: %v", got)
	}
}
