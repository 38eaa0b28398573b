// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member that somebody else removed is planned anew, with nothing of the
// others; its configuration, whose identity is spent, says so.
func TestAccMemberDisappears(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Apply("-refresh-only").MustSucceed() // now it is in state that they are members
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := f.Client("a", "c")
	for _, m := range f.Members() {
		if m.Name == "b" {
			// For the first five seconds members do not count as connected.
			eventually(t, 15*time.Second, "b can be removed", func() error {
				_, err := client.MemberRemove(ctx, m.ID)
				return err
			})
		}
	}
	plan := f.Plan()
	plan.MustDo(map[string]string{address("etcd_member", "b"): "create"})
	if got := plan.Drift[address("etcd_member_config", "b")].After["status"]; got != "removed" {
		t.Errorf("the configuration's status is %v, want removed", got)
	}
	f.Plan("-replace=" + address("etcd_member_config", "b")).MustDo(map[string]string{
		address("etcd_member_config", "b"):     "delete create",
		address("terraform_data.machine", "b"): "delete create",
		address("etcd_member", "b"):            "create",
	})
	f.Apply("-replace=" + address("etcd_member_config", "b")).MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// What changes by itself is taken into the state, and plans nothing.
func TestAccUpgradeIsNoDrift(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}, Version: etcdtest.V36})
	f.Form()
	f.Crash("a")
	f.Nodes["a"].Etcd = etcdtest.Binary(t, etcdtest.V37)
	f.Repair("a")
	f.MustVote("a")
	plan := f.Plan()
	plan.MustBeEmpty()
	f.Apply("-refresh-only").MustSucceed()
	if v := fmt.Sprint(f.State(address("etcd_member", "a"))["version"]); !strings.HasPrefix(v, "3.7.") {
		t.Errorf("version is %v in state, want a 3.7", v)
	}
}

// A learner that somebody else promoted is a voter from the next refresh on,
// and stays one.
func TestAccLearnerPromotedByOthers(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed()
	for _, m := range f.Members("a") {
		if m.IsLearner {
			eventually(t, 15*time.Second, "the promotion", func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				_, err := f.Client("a").MemberPromote(ctx, m.ID)
				return err
			})
		}
	}
	f.MustVote("a", "d")
	f.Plan().MustBeEmpty()
	f.Apply("-refresh-only").MustSucceed()
	if role := f.State(address("etcd_learner", "d"))["role"]; role != "voter" {
		t.Errorf("role is %v in state, want voter", role)
	}
}
