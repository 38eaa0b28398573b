// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// A member that was removed outside Terraform is planned again, together with its
// configuration and its machine, but without changes to the others: its identity is
// retired, both for initial and for new members. An apply without a refresh refuses.
func TestAccMemberDisappears(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Form()
	f.Add("d")
	f.Apply().MustSucceed()
	for _, name := range []string{"b", "d"} {
		id := f.MemberID(name)
		if name == "d" {
			// The update of an imported member leaves private data of an object without
			// a configuration. It does not apply to an object that is created later.
			member := acctest.Address("etcd_member", name)
			f.Run("state", "rm", member).MustSucceed()
			f.Run("import", "-input=false", member, name).MustSucceed()
			f.Apply().MustSucceed()
		}
		// For the first five seconds members do not count as connected.
		client := f.Client("a", "c")
		etcdtest.Eventually(t, name+" can be removed", func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_, err := client.MemberRemove(ctx, id)
			if errors.Is(err, rpctypes.ErrMemberNotFound) {
				return nil // an attempt that returned an error removed it
			}
			return err
		})
		want := acctest.Changes(name, "delete create")
		want[acctest.Address("etcd_member", name)] = "create"
		plan := f.Plan()
		plan.MustDo(want)
		warnings := plan.Warnings()
		if len(warnings) != 1 || warnings[0].Summary != "Member "+name+" is replaced: it was removed" {
			t.Errorf("the warnings are %v", warnings)
		}
		if got := plan.Drift()[acctest.Address("etcd_member_config", name)].After["status"]; got != "retired" {
			t.Errorf("the configuration's status is %v, want retired", got)
		}
		if name == "d" {
			f.Run("state", "rm", acctest.Address("etcd_member", name)).MustSucceed()
			e := f.Apply("-refresh=false").MustSay("Cannot add member d")
			e.MustDetail(t, fmt.Sprintf("d (%x) was removed from the cluster after it had run. An identity that was removed never joins again: with its data etcd does not start, "+
				"and without its data acknowledged writes could be lost. Nothing was changed. Replace its configuration, which gives its machine a new identity. "+
				"ADDRESS is the etcd_member_config of d:\n\n  terraform apply -replace='ADDRESS'\n\n"+
				"If several members are refused for this reason, replace their configurations in one command, with a -replace for each."+text.DestroyInstead, id))
			f.MustVote("a", "b", "c")
		}
		f.Apply().MustSucceed()
		f.Plan().MustBeEmpty()
	}
	f.MustVote("a", "b", "c", "d")
}

// Values that change by themselves are stored in the state and plan no changes.
func TestAccUpgradeIsNoDrift(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}, Version: etcdtest.V36})
	f.Form()
	f.Crash("a")
	f.Nodes["a"].Etcd = etcdtest.Binary(t, etcdtest.V37)
	f.Repair("a")
	f.MustVote("a")
	plan := f.Plan()
	plan.MustBeEmpty()
	f.Apply("-refresh-only").MustSucceed()
	if v := fmt.Sprint(f.State(acctest.Address("etcd_member", "a"))["version"]); !strings.HasPrefix(v, "3.7.") {
		t.Errorf("version is %v in state, want a 3.7", v)
	}
}

// A learner that was promoted outside Terraform is a voter after the next
// refresh, and stays one.
func TestAccLearnerPromotedByOthers(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed()
	for _, m := range f.Members("a") {
		if m.IsLearner {
			etcdtest.Eventually(t, "the promotion", func() error {
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
	if role := f.State(acctest.Address("etcd_learner", "d"))["role"]; role != "voter" {
		t.Errorf("role is %v in state, want voter", role)
	}
}

// A replacement can fail after the member was removed, because its machine cannot
// be destroyed or the run is interrupted. A plain apply then continues it.
func TestAccInterruptedReplacementGoesOn(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a", "b", "c"}, Static: true})
	// The cloud does not destroy a machine while this file exists.
	stuck := filepath.Join(f.Dir, "stuck")
	const down = `command = "sh \"$MACHINE_SH\" down `
	f.Write("main.tf", substitute(t, f.Read("main.tf"), down, `command = "test ! -e '`+stuck+`' && sh \"$MACHINE_SH\" down `))
	f.Form()
	for _, machine := range []string{"kept", "destroyed"} {
		was := f.MemberID("b")
		f.Write("stuck", "")
		if o := f.Apply("-replace=" + acctest.Address("etcd_member_config", "b")); o.ExitCode == 0 {
			t.Fatal("the machine cannot be destroyed, and the apply succeeded")
		}
		f.MustVote("a", "c")
		if err := os.Remove(stuck); err != nil {
			t.Fatal(err)
		}
		want := acctest.Changes("b", "delete create")
		want[acctest.Address("etcd_member", "b")] = "create"
		if machine == "destroyed" {
			f.RunMachine("down", "b")
			f.Run("state", "rm", acctest.Address("terraform_data.machine", "b")).MustSucceed()
			want[acctest.Address("terraform_data.machine", "b")] = "create"
		}
		plan := f.Plan()
		plan.MustDo(want)
		if got := plan.Drift()[acctest.Address("etcd_member_config", "b")].After["status"]; got != "retired" {
			t.Errorf("%s: the configuration's status is %v, want retired", machine, got)
		}
		f.Apply().MustSucceed()
		f.MustVote("a", "b", "c")
		if f.MemberID("b") == was {
			t.Errorf("%s: b is still %x", machine, was)
		}
		f.Plan().MustBeEmpty()
		f.MustHaveRecords()
	}
}
