// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A configuration is destroyed while its member lives and is in no state: the
// member stays a voter, and a warning says how to manage it again, or to remove it.
func TestAccBackstopLeavesAVoterThatLives(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Add("d")
	f.Apply().MustSucceed()
	id := f.MemberID("d")
	f.Run("state", "rm", Address("etcd_member", "d"), Address("terraform_data.machine", "d")).MustSucceed()
	f.Drop("d")
	f.Plan().MustDo(map[string]string{Address("etcd_member_config", "d"): "delete"})
	o := f.Apply().MustSucceed()
	stays := false
	for _, m := range f.Members("a") {
		stays = stays || m.ID == id && !m.IsLearner
	}
	if !stays {
		t.Errorf("d is no voter any more: %v", f.Members("a"))
	}
	f.MustHaveRecords()
	w := o.Warnings()
	if len(w) != 1 || w[0].Summary != "Member d is no longer managed" {
		t.Fatalf("the warnings are %v", w)
	}
	for _, command := range []string{"\n\n  terraform import 'ADDRESS' %x\n", "\n\n  etcdctl member remove %x"} {
		if !strings.Contains(w[0].Detail, fmt.Sprintf(command, id)) {
			t.Errorf("it lacks the command %q: %s", command, w[0].Detail)
		}
	}
}

// Plan and apply replace a corrupt member. Its successor is added after the
// alarm, which persists after the removal of the member, was disarmed.
func TestAccCorruptMember(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Version: v, Static: v == etcdtest.V35})
			f.Form()
			b := f.MemberID("b")
			client := f.Client("a")
			etcdtest.RaiseCorrupt(t, client, b)

			failed := f.Apply("-replace=" + Address("etcd_member_config", "b"))
			e := failed.MustSay("Cannot add member b")
			e.MustContain(t, e.Summary, fmt.Sprintf("%x", b), "raised the alarm CORRUPT", "The corrupt member is no longer in the cluster.", "\n\n  etcdctl alarm disarm")
			f.MustVote("a", "c")

			ctx := etcdtest.WaitContext(t)
			if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: b, Alarm: pb.AlarmType_CORRUPT}); err != nil {
				t.Fatal(err)
			}
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c")
			f.Plan().MustBeEmpty()
		})
	}
}

// The name of etcd_member differs from the name of the process: the member is
// not promoted, and can be removed again, or the name corrected.
func TestAccOtherName(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	const override = "name_override.tf"
	name := func(wrong string) {
		f.Write(override, fmt.Sprintf("resource \"etcd_member\" \"node\" {\n  config = merge(etcd_member_config.node[each.key], each.key == \"d\" ? { name = %q } : {})\n}\n", wrong))
	}
	for _, correct := range []bool{false, true} {
		name("x")
		f.Add("d")
		e := f.Apply().MustSay("Cannot add member x")
		e.MustContain(t, e.Summary, "has published the name d (ETCD_NAME). It stays a learner. If d is right, set name = \"d\"")
		f.MustList("a", "d (learner)")
		if correct {
			name("d")
			f.Plan().MustDo(map[string]string{Address("etcd_member", "d"): "create"})
			f.Apply().MustSucceed()
			f.MustVote("a", "d")
			f.Plan().MustBeEmpty()
			continue
		}
		f.Drop("d")
		f.Apply().MustSucceed().MustBeQuiet()
		f.MustVote("a")
		f.MustHaveRecords()
	}
}
