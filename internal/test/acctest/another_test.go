// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// A cluster that took the place of the one in the state keeps its machines and its writes: one
// that was restored by hand, or by an apply that was killed before the backend had the state.
// Neither the restore that is configured nor a destroy gives the cluster in the state up while
// it serves. What the error prints leads to an empty plan.
func TestAccAnotherCluster(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	lost, older := f.ClusterID(), f.Read("terraform.tfstate")
	f.put("before")
	file, sum := backup(etcdtest.WaitContext(t), t, f.Client("a"))
	f.Write("restore_override.tf", fmt.Sprintf(`resource "etcd_cluster" "this" {
  restore = {
    snapshot         = %q
    sha256           = %q
    replaces_cluster = %q
    gone             = ["a", "b", "c"]
  }
}
`, file, sum, lost))

	f.restoreByHand(file)
	byHand := f.ClusterID()
	f.put("by hand")
	f.refused("by hand", f.Apply)

	f.Lose("a", "b", "c")
	run := f.Start("apply")
	etcdtest.Eventually(t, "the restored cluster serves", func() error {
		if run.Ended() {
			t.Fatalf("the apply ended: %s", run.outcome())
		}
		ctx := etcdtest.WaitContext(t)
		list, err := f.Client("a").MemberList(ctx)
		if err == nil && (fmt.Sprintf("%x", list.Header.ClusterId) == byHand || f.value() != "before") {
			err = errors.New("another cluster answers")
		}
		return err
	})
	run.Kill()
	awaitNone(t, f.Dir)
	f.expireLock()
	f.put("restored")
	f.Write("terraform.tfstate", older)
	o := f.refused("restored", f.Apply)
	f.refused("restored", f.Apply, "-target=terraform_data.machine")
	f.refused("restored", f.Destroy, "-refresh=false")
	f.Env = append(f.Env, "ETCD_CLUSTER_LOST="+lost+":a,b,c")
	f.refused("restored", f.Destroy, "-refresh=false")

	f.Env = []string{"ETCDCTL_ENDPOINTS=" + f.Nodes["a"].Client}
	text := o.Errors()[0].Detail
	for _, command := range regexp.MustCompile(`terraform state rm '([^']*)'`).FindAllStringSubmatch(text, -1) {
		f.Run("state", "rm", command[1]).MustSucceed()
	}
	must.Succeed(t, os.Remove(filepath.Join(f.Dir, "restore_override.tf")))
	f.Write("import.tf", strings.Join(regexp.MustCompile(`import \{[^}]*\}`).FindAllString(text, -1), "\n"))
	f.Write("machines_override.tf", `resource "terraform_data" "machine" {
  lifecycle {
    ignore_changes = [triggers_replace]
  }
}
`)
	before := f.MemberIDs()
	f.Form()
	f.Settled()
	f.MustHaveReplaced(before)
	if got := f.value(); got != "restored" {
		t.Errorf("the value is %q", got)
	}
}

// refused fails the test if a command does not fail because another cluster answers, or if it
// takes a member or the value.
func (f *Fleet) refused(value string, command func(...string) *Outcome, args ...string) *Outcome {
	f.TB.Helper()
	before, id := f.MemberIDs(), f.ClusterID()
	o := command(args...)
	if len(o.Errors()) == 0 {
		f.TB.Fatalf("it is not refused: %s", o)
	}
	for _, e := range o.Errors() {
		if !strings.Contains(e.Detail, "luster "+id+" answers at ") {
			f.TB.Errorf("an error for another reason: %s", e)
		}
	}
	if now := f.MemberIDs(); !maps.Equal(now, before) || f.value() != value {
		f.TB.Errorf("the members are %v and were %v, the value is %q: %s", now, before, f.value(), o)
	}
	return o
}

// put writes the value that is to be kept, and value reads it.
func (f *Fleet) put(value string) {
	f.TB.Helper()
	_, err := f.Client().Put(etcdtest.WaitContext(f.TB), "kept", value)
	must.Succeed(f.TB, err)
}

func (f *Fleet) value() string {
	f.TB.Helper()
	got, err := f.Client().Get(etcdtest.WaitContext(f.TB), "kept")
	if err != nil || len(got.Kvs) != 1 {
		return fmt.Sprint(err)
	}
	return string(got.Kvs[0].Value)
}

// restoreByHand restores a snapshot with etcdutl on all machines, as a cluster that Terraform
// does not know.
func (f *Fleet) restoreByHand(file string) {
	f.TB.Helper()
	f.Crash(f.names()...)
	var initial []string
	for _, name := range f.names() {
		initial = append(initial, name+"="+f.Nodes[name].Peer)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		data := filepath.Join(f.Machines, name, "data")
		must.Succeed(f.TB, os.RemoveAll(data))
		cmd := exec.Command(etcdtest.EtcdutlBinary(f.TB, etcdtest.DefaultVersion), "snapshot", "restore", file,
			"--data-dir="+data, "--name="+name, "--initial-advertise-peer-urls="+f.Nodes[name].Peer,
			"--initial-cluster="+strings.Join(initial, ","), "--initial-cluster-token=by-hand")
		if out, err := cmd.CombinedOutput(); err != nil {
			f.TB.Fatalf("etcdutl: %v\n%s", err, out)
		}
	}
	f.Repair(f.names()...)
	f.MustVote()
}
