// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// restored is the argument restore.
type restored struct {
	file, sha256, replaces string
	revision               int64
	keys                   int
	// from is the etcd_snapshot to which sha256 and revision refer, or empty.
	from string
	gone []string
}

// restores writes the initial cluster with restore, or without it if r is nil.
func (f *Fleet) restores(t *testing.T, r *restored) {
	t.Helper()
	argument := ""
	if r != nil {
		sum, revision := fmt.Sprintf("%q", r.sha256), fmt.Sprint(r.revision)
		if r.from != "" {
			sum, revision = r.from+".sha256", r.from+".revision"
		}
		argument = fmt.Sprintf("  restore = {\n    snapshot = %q\n    sha256 = %s\n    revision = %s\n    revision_bump = 1000000\n    mark_compacted = true\n", r.file, sum, revision)
		if r.replaces != "" {
			argument += fmt.Sprintf("    replaces_cluster = %q\n", r.replaces)
			if r.gone != nil {
				argument += fmt.Sprintf("    gone = [\"%s\"]\n", strings.Join(r.gone, `", "`))
			}
		}
		argument += "  }\n"
	}
	f.Write("bootstrap.tf", strings.Replace(StaticText, "  members = {", argument+"  members = {", 1))
}

// installUtl puts etcd and etcdutl of the fleet's version into one directory.
func (f *Fleet) installUtl(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"etcd": etcdtest.Binary(t, f.Version()), "etcdutl": etcdtest.EtcdutlBinary(t, f.Version())} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.MachineEnv["ETCD_JOIN_BIN"] = bin
}

// fill writes n keys to a cluster.
func (f *Fleet) fill(t *testing.T, n int, names ...string) {
	t.Helper()
	client, ctx := f.Client(names...), etcdtest.WaitContext(t)
	for begin := 0; begin < n; begin += 100 {
		var puts []clientv3.Op
		for i := begin; i < min(begin+100, n); i++ {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("kept/%d", i), "value"))
		}
		if _, err := client.Txn(ctx).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// backup takes a snapshot of one member's data.
func (f *Fleet) backup(t *testing.T, keys int, name string) *restored {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	client := f.Client(name)
	status, err := client.Status(ctx, f.Nodes[name].dial())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	r := &restored{file: filepath.Join(t.TempDir(), "snapshot.db"), sha256: hex.EncodeToString(sum[:]), revision: status.Header.Revision, keys: keys}
	if err := os.WriteFile(r.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// mustBeRestored checks that the cluster has the data of the snapshot, and
// nothing written after it.
func (f *Fleet) mustBeRestored(t *testing.T, r *restored, names ...string) {
	t.Helper()
	f.MustVote(names...)
	client, ctx := f.Client(names...), etcdtest.WaitContext(t)
	got, err := client.Get(ctx, "kept/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != int64(r.keys) || got.Header.Revision < r.revision+1000000 {
		t.Errorf("%d keys at revision %d (%v), want %d at %d or later", got.Count, got.Header.Revision, err, r.keys, r.revision+1000000)
	}
	late, err := client.Get(ctx, "late")
	if err != nil || len(late.Kvs) != 0 {
		t.Errorf("what was written after the snapshot is there: %v, %v", late, err)
	}
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	if resp, ok := <-client.Watch(watch, "kept/", clientv3.WithPrefix(), clientv3.WithRev(r.revision)); !ok || !errors.Is(resp.Err(), rpctypes.ErrCompacted) {
		t.Errorf("who watches from the old revision is told %v", resp.Err())
	}
	f.Plan().MustBeEmpty()
}

// Everything except a backup is lost, including the state: one apply creates a
// cluster from it. Later the argument only documents how the cluster began.
func TestAccRestore(t *testing.T) {
	t.Parallel()
	keys := 500
	if etcdtest.Full() {
		keys = 10000
	}
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Static: true, Version: v})
			f.installUtl(t)
			f.Form()
			f.fill(t, keys, "a")
			r := f.backup(t, keys, "b")
			if _, err := f.Client("a").Put(etcdtest.WaitContext(t), "late", "value"); err != nil {
				t.Fatal(err)
			}
			f.Destroy().MustSucceed()
			f.MustBeGone()

			f.restores(t, r)
			f.Apply().MustSucceed().MustBeQuiet()
			f.mustBeRestored(t, r, "a", "b", "c")
			id := f.State(InitialCluster)["cluster_id"]

			// Removing or changing it plans no changes.
			f.restores(t, nil)
			f.Plan().MustBeEmpty()
			other := *r
			other.sha256, other.revision = strings.Repeat("ab", 32), 1
			f.restores(t, &other)
			f.Plan().MustBeEmpty()

			// A new member does not get it.
			f.Add("d")
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c", "d")
			environment, ok := f.State(Address("etcd_member_config", "d"))["environment"].(map[string]any)
			if _, has := environment["ETCD_JOIN_RESTORE"]; !ok || has {
				t.Errorf("the environment of a new member is %v", environment)
			}
			if now := f.State(InitialCluster)["cluster_id"]; now != id {
				t.Errorf("cluster %v became %v", id, now)
			}
		})
	}
}

// Two disks of three are lost, and the survivor lacks the latest writes. One
// apply saves its data and changes nothing else. A second one, after a review,
// creates a new cluster from it. Uncertain cases are refused.
func TestAccRecovery(t *testing.T) {
	t.Parallel()
	const keys, survivor = 300, "etcd_snapshot.survivor"
	f := NewFleet(t, FleetOptions{Static: true})
	f.installUtl(t)
	links := f.linkPeers(t)
	f.Form()
	f.Apply("-refresh-only").MustSucceed()
	f.fill(t, keys, "a")
	old, ok := f.State(InitialCluster)["cluster_id"].(string)
	if !ok {
		t.Fatalf("the cluster is %v", f.State(InitialCluster))
	}
	stale := f.leaveRecords(t, old)

	// A cluster with a quorum is not abandoned.
	r := f.backup(t, keys, "a")
	r.replaces = old
	f.restores(t, r)
	e := f.Apply().MustFail().MustSay("The cluster has not lost its quorum")
	e.MustContain(t, e.Summary, old)
	f.MustVote("a", "b", "c")
	f.restores(t, nil)

	lost := f.loseAhead(t, links, "a", "b", "c")

	// Without a snapshot there is nothing to restore.
	f.Write("survivor.tf", "data \"etcd_cluster\" \"this\" {}\n\nresource \"etcd_snapshot\" \"survivor\" {\n  path = \"${path.root}/survivor.db\"\n  member = data.etcd_cluster.this.survivor.name\n}\n")
	r = &restored{file: filepath.Join(f.Dir, "survivor.db"), from: survivor, replaces: old, keys: keys}
	f.restores(t, r)
	e = f.Plan().MustSay("Cannot restore the cluster")
	e.MustContain(t, e.Summary, "is not known before the apply", "terraform apply -target=")
	f.restores(t, nil)
	plan := f.Plan()
	plan.MustDo(map[string]string{survivor: "create"})
	plan.MustKnow(survivor, "member", "a")
	f.Apply("-target=" + survivor).MustSucceed().Says("The snapshot may be behind")
	f.Plan().MustBeEmpty()

	// Without the confirmation nothing is replaced, and another ID is refused.
	wrong := *r
	wrong.replaces = ""
	f.restores(t, &wrong)
	f.Plan().MustDo(map[string]string{InitialCluster: "update"})
	wrong.replaces = "2a"
	f.restores(t, &wrong)
	e = f.Apply().MustFail().MustSay("Cannot restore the cluster")
	e.MustContain(t, e.Summary, "restore.replaces_cluster is 2a", old)
	f.restores(t, r)
	for _, n := range f.Nodes { // machines of the restored cluster have other addresses
		n.Peer, n.ListenPeer = n.ListenPeer[0], nil
	}
	// Silence proves nothing: the user states who is gone, by name.
	e = f.Plan().MustSay("State which members are gone")
	for _, answer := range []string{f.Nodes["a"].Client + ": answers without a quorum", f.Nodes["b"].Client + ": connection refused"} { // sorted by port
		e.MustContain(t, e.Summary, "\n  gone = [\"b\", \"c\"]\n", answer)
	}
	r.gone = []string{"b", "c"}
	f.restores(t, r)
	plan = f.Plan()
	want := map[string]string{InitialCluster: "delete create"}
	for _, name := range []string{"a", "b", "c"} {
		maps.Copy(want, Changes(name, "delete create"))
	}
	plan.MustDo(want)

	// A partial apply does not give up anything that the rest needs.
	f.mustWarnOfRestore(t, f.Apply("-target="+Address("etcd_member_config", "b")).MustSucceed(), old)
	delete(want, InitialCluster)
	delete(want, Address("etcd_member_config", "b"))
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	f.Write("survivor.tf", "")
	r.from, r.revision = "", etcdtest.EtcdutlStatus(t, r.file).Revision
	r.sha256 = fileSum(t, r.file)
	f.restores(t, r)
	f.Apply().MustSucceed()
	f.mustBeRestored(t, r, "a", "b", "c")
	f.mustLack(t, lost)
	if now := f.State(InitialCluster)["cluster_id"]; now == old {
		t.Error("the restored cluster has the ID of the old one")
	}
	f.mustBeCleared(t, stale)
	f.restores(t, nil)
	f.Plan().MustBeEmpty()
}

// The error names a member of the old cluster that the plan would keep because
// no configuration follows for its resource. Without it the plan is complete.
func TestAccRecoveryKeepsNoMember(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.installUtl(t)
	f.Form()
	f.Nodes["c"].Joins = "none"
	f.Run("state", "rm", Address("etcd_member", "c")).MustSucceed()
	f.Write("outside.tf", fmt.Sprintf("resource \"etcd_member\" \"outside\" {\n  name = \"c\"\n  peer_urls = [%q]\n}\n", f.Nodes["c"].Peer)+ImportBlock("etcd_member.outside", "c"))
	f.Apply().MustSucceed()
	r := f.backup(t, 0, "a")
	r.replaces = fmt.Sprint(f.State(InitialCluster)["cluster_id"])
	f.Lose("b", "c")
	r.gone = []string{"b", "c"}
	f.restores(t, r)
	e := f.Plan().MustSay("Member of an abandoned cluster")
	e.MustContain(t, e.Summary, "c is a member of cluster "+r.replaces, "remove the member from the configuration")
	f.Write("outside.tf", "")
	want := map[string]string{InitialCluster: "delete create", "etcd_member.outside": "delete"}
	for _, name := range []string{"a", "b", "c"} {
		maps.Copy(want, Changes(name, "delete create"))
	}
	delete(want, Address("etcd_member", "c"))
	f.Plan().MustDo(want)
}

// An apply that restores in place of a cluster is interrupted repeatedly, at
// each kind of step, by the end of the CLI or the provider. The next apply
// continues, and the last one leaves the whole cluster.
func TestAccRecoveryKilled(t *testing.T) {
	t.Parallel()
	if !etcdtest.Full() {
		t.Skip("it takes minutes: set ETCD_TEST_FULL=1")
	}
	const keys = 100
	f := NewFleet(t, FleetOptions{Static: true})
	f.installUtl(t)
	f.Form()
	f.fill(t, keys, "a")
	steps := []string{
		"etcd_member.node[\\\"a\\\"]: Destroying", "etcd_member.node[\\\"a\\\"]: Destruction complete", "terraform_data.machine[\\\"b\\\"]: Destruction complete",
		"etcd_member_config.node[\\\"c\\\"]: Destruction complete", InitialCluster + ": Destruction complete", InitialCluster + ": Creation complete",
		"etcd_member_config.node[\\\"a\\\"]: Creation complete", "terraform_data.machine[\\\"a\\\"]: Creating", "terraform_data.machine[\\\"c\\\"]: Creation complete",
		"etcd_member.node[\\\"b\\\"]: Creating", "etcd_member.node[\\\"b\\\"]: Creation complete",
	}
	all := len(steps)
	// A run reaches its next steps before it is killed, so one recovery is not
	// interrupted at each of them.
	for range 4 {
		f.Apply("-refresh-only").MustSucceed()
		r := f.backup(t, keys, "a")
		r.replaces = fmt.Sprint(f.State(InitialCluster)["cluster_id"])
		f.Lose("b", "c")
		r.gone = []string{"b", "c"}
		f.restores(t, r)
		for ended := true; ended; {
			steps, ended = f.endAt(t, steps)
		}
		f.Apply().MustSucceed()
		f.mustBeRestored(t, r, "a", "b", "c")
	}
	if len(steps) > all/3 {
		t.Errorf("no run was ended at %q", steps)
	}
}

// endAt applies, and interrupts the run at the first of the steps that it
// prints. It returns the other steps, and whether the run was interrupted.
func (f *Fleet) endAt(t *testing.T, steps []string) (others []string, ended bool) {
	t.Helper()
	run, at := f.Start("apply"), -1
	etcdtest.Eventually(t, "one of the steps", func() error {
		if at = slices.IndexFunc(steps, run.Printed); at < 0 && !run.Ended() {
			return errors.New("not yet")
		}
		return nil
	})
	if at < 0 {
		run.Wait()
		return steps, false
	}
	hit := []blow{cliKilled, providerKilled}[len(steps)%2]
	hit.act(run)
	run.Wait()
	t.Logf("%s: %s", steps[at], hit.name)
	return slices.Delete(slices.Clone(steps), at, at+1), true
}

// leaveRecords writes metadata of the provider: an ownership record and a turn,
// as if an apply had been interrupted. It returns their keys.
func (f *Fleet) leaveRecords(t *testing.T, id string) (keys []string) {
	t.Helper()
	client, ctx := f.Client("a"), etcdtest.WaitContext(t)
	under := "/_terraform/etcd/" + id
	for key, value := range map[string]string{
		"/members/name:x": `{"format":1,"owner":"name:x","name":"x","peer_urls":["http://192.0.2.1:2380"],"member_id":"2a","state":"announced","started":true}`,
		"/turns/x":        fmt.Sprintf(`{"format":1,"voters":3,"since":%q,"by":"joe@ops1"}`, time.Now().Format(time.RFC3339)),
	} {
		if _, err := client.Put(ctx, under+key, value); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, under+key)
	}
	// A similar key of the application is not the provider's.
	if _, err := client.Put(ctx, "app"+under, "value"); err != nil {
		t.Fatal(err)
	}
	return keys
}

// mustBeCleared checks that these keys are gone, and no others.
func (f *Fleet) mustBeCleared(t *testing.T, keys []string) {
	t.Helper()
	client, ctx := f.Client("a"), etcdtest.WaitContext(t)
	for _, key := range keys {
		if got, err := client.Get(ctx, key); err != nil || got.Count != 0 {
			t.Errorf("%s is still there (%v)", key, err)
		}
	}
	if got, err := client.Get(ctx, "app", clientv3.WithPrefix()); err != nil || got.Count != 1 {
		t.Errorf("of the application are %v, %v", got, err)
	}
}

// linkPeers puts a link in front of the peer port of each node, before its start.
func (f *Fleet) linkPeers(t *testing.T) map[string]*etcdtest.Link {
	t.Helper()
	links := map[string]*etcdtest.Link{}
	for name, n := range f.Nodes {
		links[name] = etcdtest.Proxy(t, strings.TrimPrefix(n.Peer, "http://"))
		n.Peer, n.ListenPeer = "http://"+links[name].Addr(), []string{n.Peer}
	}
	return links
}

// loseAhead lets the other members acknowledge writes that the survivor never
// gets, and loses their machines. The survivor is frozen and cut off: into an open
// connection the leader would write them all the same, and the survivor would read
// them once it continues.
func (f *Fleet) loseAhead(t *testing.T, links map[string]*etcdtest.Link, survivor string, others ...string) (lost []string) {
	t.Helper()
	f.Signal(survivor, syscall.SIGSTOP)
	etcdtest.Until(t, survivor+" has stopped", func() bool { return etcdtest.Frozen(f.PID(survivor, "etcd.pid")) })
	links[survivor].Cut()
	for _, l := range links {
		l.Reset() // it has dialled the others as well
	}
	client, ctx := f.Client(others...), etcdtest.WaitContext(t)
	for i := range 5 {
		key := fmt.Sprintf("lost/%d", i)
		etcdtest.Eventually(t, key+" is acknowledged", func() error {
			one, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := client.Put(one, key, "value")
			return err
		})
		lost = append(lost, key)
	}
	f.Lose(others...)
	f.Signal(survivor, syscall.SIGCONT)
	etcdtest.Eventually(t, survivor+" answers", func() error {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := f.Client(survivor).Status(one, f.Nodes[survivor].dial())
		return err
	})
	return lost
}

// mustLack checks that the writes that only the lost members had are missing,
// and logs them.
func (f *Fleet) mustLack(t *testing.T, lost []string) {
	t.Helper()
	got, err := f.Client("a", "b", "c").Get(etcdtest.WaitContext(t), "lost/", clientv3.WithPrefix())
	if err != nil || got.Count != 0 {
		t.Errorf("of what only the lost members had are there %v, %v", got, err)
	}
	t.Logf("acknowledged by the members that were lost, and not restored: %v", lost)
}

// mustWarnOfRestore checks the warning about what is given up.
func (f *Fleet) mustWarnOfRestore(t *testing.T, o *Outcome, old string) {
	t.Helper()
	w := o.Says("A snapshot takes the place of a cluster")
	w.MustContain(t, w.Summary, old, "a, b, c", "Writes after revision ", "without -target")
}

func fileSum(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
