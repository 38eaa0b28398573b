// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// fill writes and compacts, so that there is data to save and space to free.
func fill(t *testing.T, b *etcdtest.Cluster) {
	t.Helper()
	client := b.Client(t)
	value := strings.Repeat("x", 64<<10)
	var revision int64
	for i := range 40 {
		resp, err := client.Put(t.Context(), fmt.Sprint("key", i%4), value)
		if err != nil {
			t.Fatal(err)
		}
		revision = resp.Header.Revision
	}
	if _, err := client.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
}

// A snapshot of each version is complete, and a cluster can be restored from it.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			fill(t, b)
			f := newTerraform(t, b.Endpoints()[:1], nil)
			path := filepath.Join(t.TempDir(), "etcd.db")
			leader := b.Leader(t)
			o := f.run("etcd_snapshot", map[string]tftypes.Value{"path": text(path)}).mustPlan().mustSay()
			last := o.progress[len(o.progress)-1]
			if strings.Contains(last, leader.Name) || !strings.HasPrefix(o.progress[0], "Saving the data of infra") {
				t.Errorf("told %q with the leader %s", o.progress, leader.Name)
			}
			mustBeWhole(t, path, last)

			// If the directory is missing, no member is asked.
			missing := filepath.Join(filepath.Dir(path), "backup")
			f.run("etcd_snapshot", map[string]tftypes.Value{"path": text(missing + "/etcd.db"), "overwrite": yes()}).mustPlan(
				"error: Cannot save a snapshot: There is no directory " + missing + " on the machine that runs Terraform\\. .*")

			// A second snapshot changes nothing, unless overwrite is set.
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			exists := "error: Cannot save a snapshot: " + path + " is there already, and was left alone\\. .*"
			if o := f.run("etcd_snapshot", map[string]tftypes.Value{"path": text(path)}).mustPlan(exists); o.progress != nil {
				t.Error("it was invoked")
			}
			if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
				t.Errorf("the file is another: %v, %v", after, err)
			}
			f.run("etcd_snapshot", map[string]tftypes.Value{"path": text(path), "overwrite": yes(), "member": text(leader.Name)}).mustPlan().mustSay().
				mustTell("Saving the data of "+called(leader.Name)+": 0 B of about .*", "Received .*; comparing its hash\\.", "Saved .* of "+called(leader.Name)+".*")
			mustBeWhole(t, path, "")
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(files) != 1 {
				t.Errorf("beside it there are %v, %v", files, err)
			}
		})
	}
}

// mustBeWhole fails the test unless etcdutl accepts the file as a snapshot, and
// only its owner can read it.
func mustBeWhole(t *testing.T, path, told string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || len(text)%512 != sha256.Size {
		t.Fatalf("mode %v, %d bytes", info.Mode(), len(text))
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(text[:len(text)-sha256.Size]))
	if behind := fmt.Sprintf("%x", text[len(text)-sha256.Size:]); behind != hash {
		t.Errorf("the hash is %s, and behind it stands %s", hash, behind)
	}
	status := etcdtest.EtcdutlStatus(t, path)
	for _, word := range []string{fmt.Sprintf("the SHA-256 %x", sha256.Sum256(text)), fmt.Sprintf("at revision %d with %d key", status.Revision, status.TotalKey)} {
		if told != "" && !strings.Contains(told, word) {
			t.Errorf("not told %q: %s", word, told)
		}
	}
}

// Without a quorum no snapshot is saved, unless a member is named; then it is
// saved, with a warning.
func TestSnapshotWithoutQuorum(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	fill(t, b)
	f := newTerraform(t, b.Endpoints(), nil)
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	path := filepath.Join(t.TempDir(), "etcd.db")
	arguments := map[string]tftypes.Value{"path": text(path)}
	f.run("etcd_snapshot", arguments).mustSay("error: Cannot save a snapshot: The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2\\. .*").mustTell()
	arguments["member"] = text("infra1")
	f.run("etcd_snapshot", arguments).mustSay("warning: The snapshot may be behind: It is of " + called("infra1") + " alone, with no quorum behind it\\. .*")
	mustBeWhole(t, path, "")
	arguments["path"], arguments["member"] = text(path+"2"), text("infra2")
	f.run("etcd_snapshot", arguments).mustSay("error: Cannot save a snapshot: " + called("infra2") + " does not answer .*Bring it back, or choose another member\\. To save what " + called("infra1") + " alone has, set member = \"infra1\"\\.")
	arguments["member"] = text("infra9")
	f.run("etcd_snapshot", arguments).mustSay(`error: No such member: member = "infra9" is neither the name nor the ID of a member\. The cluster has infra1 .*`)
	if _, err := os.Stat(path + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// One after the other, the leader last; the databases are smaller afterwards.
func TestDefragment(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			fill(t, b)
			b.AddLearner(t, "learner1")
			leader := b.Leader(t)
			var order, want []string
			for _, p := range b.Members() {
				if p != leader {
					order = append(order, p.Name)
				}
			}
			want = append(want, "Leaving out "+called("learner1")+": it is a learner, .*")
			for i, name := range append(order, leader.Name) {
				want = append(want, fmt.Sprintf("Defragmenting %s, %d left after it\\.", called(name), 2-i), "Defragmented "+called(name)+" in .*: its database went from .* MiB to .*B\\.")
			}
			f := newTerraform(t, b.Endpoints(), nil)
			f.run("etcd_defragment", map[string]tftypes.Value{"members": set(order[0], "learner1")}).mustTell().mustSay(
				"error: Cannot defragment the members: " + called("learner1") + " is a learner, and etcd lets none be defragmented while it runs\\. Nothing was changed\\. .*")
			f.run("etcd_defragment", nil).mustPlan().mustSay().mustTell(want...)
			for _, p := range b.Members() {
				status, err := b.ClientFor(t, p).Status(t.Context(), p.ClientURL())
				if err != nil || status.DbSize > 1<<20 {
					t.Errorf("%s: %d bytes, %v", p.Name, status.DbSize, err)
				}
			}
		})
	}
}

// No member is defragmented while another is down, if the cluster would stop,
// or after a member whose defragmentation failed.
func TestDefragmentRefused(t *testing.T) {
	t.Parallel()
	t.Run("one of three is down", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 3, etcdtest.Options{})
		b.Member("infra2").Kill()
		b.Leader(t)
		newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", map[string]tftypes.Value{"members": set("infra1")}).mustTell().mustSay(
			"error: Cannot defragment the members: A member does not answer while it is defragmented, so every other one must be healthy\\. " + called("infra2") + " does not answer .*")
	})
	t.Run("one that dies at it", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 3, etcdtest.Options{})
		leader := b.Leader(t)
		var followers []*etcdtest.Process
		for _, p := range b.Members() {
			if p != leader {
				followers = append(followers, p)
			}
		}
		first, second := followers[0], followers[1]
		o := newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", nil, func(word string) {
			if strings.HasPrefix(word, "Defragmenting "+second.Name) {
				second.Kill()
			}
		})
		o.mustTell("Defragmenting "+called(first.Name)+", 2 left after it\\.", "Defragmented "+called(first.Name)+".*", "Defragmenting "+called(second.Name)+", 1 left after it\\.")
		o.mustSay("error: Cannot defragment the members: " + called(second.Name) + " failed: .*\\. " + first.Name + " was before it, " + leader.Name + " was not touched\\. .*")
	})
	t.Run("two voters", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 2, etcdtest.Options{})
		f := newTerraform(t, b.Endpoints(), nil)
		f.run("etcd_defragment", nil).mustTell().mustSay(
			"error: Cannot defragment the members: While infra. " + hex + " is defragmented it does not answer: 1 of 2 voters would be left; quorum is 2, so the cluster would stop for that time\\. .*allow_interruption = true\\.")
		if o := f.run("etcd_defragment", map[string]tftypes.Value{"allow_interruption": yes()}).mustSay(); len(o.progress) != 4 {
			t.Errorf("told %q", o.progress)
		}
	})
}

// Leadership moves to the requested member, or to any suitable member, but
// never to an unsuitable one.
func TestMoveLeader(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	learner := b.AddLearner(t, "learner1")
	f := newTerraform(t, b.Endpoints(), nil)
	was := b.Leader(t)
	f.run("etcd_move_leader", nil).mustPlan().mustSay().mustTell("Moving leadership from "+called(was.Name)+" to .*\\.", "infra. "+hex+" leads\\.")
	now := b.Leader(t)
	if now == was {
		t.Error("nothing moved")
	}
	f.run("etcd_move_leader", map[string]tftypes.Value{"to": text(was.Name)}).mustSay().mustTell("Moving leadership from "+called(now.Name)+" to "+called(was.Name)+"\\.", called(was.Name)+" leads\\.")
	id := fmt.Sprintf("%x", b.MemberID(t, was))
	f.run("etcd_move_leader", map[string]tftypes.Value{"to": text(id)}).mustSay().mustTell(called(was.Name) + " leads\\.")
	f.run("etcd_move_leader", map[string]tftypes.Value{"to": text(learner.Name)}).mustTell().mustSay("error: Cannot move leadership: " + called("learner1") + " is a learner, and a learner cannot lead\\. .*")
	var dead *etcdtest.Process
	for _, p := range b.Members() {
		if p != was && p != learner {
			dead = p
		}
	}
	dead.Kill()
	f.run("etcd_move_leader", map[string]tftypes.Value{"to": text(dead.Name)}).mustTell().mustSay("error: Cannot move leadership: " + called(dead.Name) + " does not answer .*Bring it back, or choose another member\\.")
	if b.Leader(t) != was {
		t.Error("leadership moved")
	}
}

// An alarm is disarmed when there is space again, and not before.
func TestDisarmAlarm(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, QuotaBytes: 4 << 20})
			client := b.Client(t)
			var err error
			revision := int64(0)
			for i := 0; i < 1000 && err == nil; i++ {
				resp, putErr := client.Put(t.Context(), "key", strings.Repeat("x", 32<<10))
				if err = putErr; err == nil {
					revision = resp.Header.Revision
				}
			}
			if !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Fatalf("the database never filled: %v", err)
			}
			f := newTerraform(t, b.Endpoints(), nil)
			const plan = "warning: The alarm NOSPACE will be disarmed: That only helps where its cause is gone\\. First make space: compact .*"
			arguments := map[string]tftypes.Value{"alarm": text("NOSPACE")}
			tells := v == etcdtest.V36 || v == etcdtest.V37
			refused := "error: Cannot disarm the alarm NOSPACE: " + called("infra1") + " does not tell whether the cause of the alarm NOSPACE has been fixed\\. .*Then set confirmed = true\\."
			if tells {
				// Even if the operator confirms.
				arguments["confirmed"] = yes()
				refused = "error: Cannot disarm the alarm NOSPACE: The database of " + called("infra1") + " is still as large as the quota allows \\(infra1: .* of 4\\.0 MiB, .* in use\\): .*"
			}
			f.run("etcd_disarm_alarm", arguments).mustPlan(plan).mustTell().mustSay(refused)
			if _, err := client.Put(t.Context(), "key", "y"); !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Fatalf("the alarm is gone: %v", err)
			}

			if _, err := client.Compact(t.Context(), revision); err != nil {
				t.Fatal(err)
			}
			// The lock cannot be acquired under the alarm; defragmentation works anyway.
			f.run("etcd_defragment", map[string]tftypes.Value{"allow_interruption": yes()}).mustSay()
			delete(arguments, "confirmed")
			if !tells {
				arguments["confirmed"] = yes()
			}
			const quiet = "No member reports the alarm NOSPACE\\."
			f.run("etcd_disarm_alarm", arguments).mustPlan(plan).mustSay().mustTell("Disarming the alarm NOSPACE of "+called("infra1")+"\\.", quiet)
			if _, err := client.Put(t.Context(), "key", "y"); err != nil {
				t.Errorf("a write afterwards: %v", err)
			}
			f.run("etcd_disarm_alarm", arguments).mustSay().mustTell(quiet)
			if alarms, err := client.AlarmList(t.Context()); err != nil || len(alarms.Alarms) > 0 {
				t.Errorf("raised: %v, %v", alarms, err)
			}
		})
	}
}

// Everything works with a password, and no output contains it. This includes
// the snapshot of a learner, which does not allow a login.
func TestWithPassword(t *testing.T) {
	t.Parallel()
	const password = "swordfish-1618033988"
	b := etcdtest.Start(t, 3, etcdtest.Options{Password: password})
	fill(t, b)
	learner := b.AddLearner(t, "learner1")
	f := newTerraform(t, append(b.Endpoints(), learner.ClientURL()), map[string]tftypes.Value{"username": text("root"), "password": text(password)})
	path := filepath.Join(t.TempDir(), "etcd.db")
	var all []string
	for name, arguments := range map[string]map[string]tftypes.Value{
		"etcd_snapshot": {"path": text(path)}, "etcd_defragment": nil, "etcd_move_leader": nil, "etcd_disarm_alarm": {"alarm": text("NOSPACE")},
	} {
		o := f.run(name, arguments).mustSay()
		if all = append(all, o.progress...); name == "etcd_snapshot" && !strings.HasPrefix(o.progress[0], "Saving the data of learner1 ") {
			t.Errorf("told %q", o.progress)
		}
	}
	mustBeWhole(t, path, "")
	if said := strings.Join(all, "\n"); strings.Contains(said, password) || len(all) == 0 {
		t.Errorf("told:\n%s", said)
	}
	nobody := newTerraform(t, b.Endpoints(), nil)
	nobody.run("etcd_move_leader", nil).mustSay("error: Cannot move leadership: .*")
}

// listed returns the display name, the identity and the name of each list result.
func (f *terraform) listed(name string, limit int64, include bool) (out []string, diags []string) {
	f.t.Helper()
	identities, err := f.server.GetResourceIdentitySchemas(f.t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	stream, err := f.lists.ListResource(f.t.Context(), &tfprotov6.ListResourceRequest{
		TypeName: name, Config: f.object(f.schemas.ListResourceSchemas[name], nil), Limit: limit, IncludeResource: include,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for r := range stream.Results {
		diags = append(diags, lines(r.Diagnostics)...)
		if r.Identity == nil {
			continue
		}
		v, err := r.Identity.IdentityData.Unmarshal(identities.IdentitySchemas[name].ValueType())
		if err != nil {
			f.t.Fatal(err)
		}
		line := r.DisplayName + " " + values(f.t, v, "cluster_id", "member_id")
		if r.Resource != nil {
			v, err := r.Resource.Unmarshal(f.schemas.ResourceSchemas[name].ValueType())
			if err != nil {
				f.t.Fatal(err)
			}
			line += " " + values(f.t, v, "cluster_id", "id", "name", "role", "wait_until")
		}
		out = append(out, line)
	}
	return out, diags
}

func values(t *testing.T, v tftypes.Value, names ...string) string {
	t.Helper()
	all := map[string]tftypes.Value{}
	if err := v.As(&all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		s := ""
		if err := all[name].As(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// The lists hold the members that etcdctl lists, each with its identity, and
// with the resource if requested.
func TestLists(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	b.AddLearner(t, "learner1")
	var list struct {
		Header struct {
			ClusterID uint64 `json:"cluster_id"`
		}
		Members []struct {
			ID        uint64
			Name      string
			IsLearner bool
		}
	}
	out, err := b.Etcdctl("member", "list", "-w", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var voters, learners, withResource []string
	for _, m := range list.Members {
		line := fmt.Sprintf("%s (%x) %x %x", m.Name, m.ID, list.Header.ClusterID, m.ID)
		if m.IsLearner {
			learners = append(learners, line)
			continue
		}
		voters = append(voters, line)
		withResource = append(withResource, fmt.Sprintf("%s %x %x %s voter voting", line, list.Header.ClusterID, m.ID, m.Name))
	}
	slices.Sort(voters)
	slices.Sort(withResource)
	f := newTerraform(t, b.Endpoints(), nil)
	for _, c := range []struct {
		name    string
		limit   int64
		include bool
		want    []string
	}{
		{"etcd_member", 0, false, voters},
		{"etcd_member", 2, false, voters[:2]},
		{"etcd_member", 0, true, withResource},
		{"etcd_learner", 0, false, learners},
	} {
		if got, diags := f.listed(c.name, c.limit, c.include); !slices.Equal(got, c.want) || len(diags) > 0 {
			t.Errorf("%s, limit %d:\n%s\nwant\n%s\n%s", c.name, c.limit, strings.Join(got, "\n"), strings.Join(c.want, "\n"), diags)
		}
	}
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	if got, diags := newTerraform(t, b.Endpoints(), nil).listed("etcd_member", 0, false); !slices.Equal(got, voters) || len(diags) != 1 || !strings.HasPrefix(diags[0], "warning: The list may be behind: ") {
		t.Errorf("without a quorum:\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(voters, "\n"), diags)
	}
	gone := newTerraform(t, []string{"http://127.0.0.1:1"}, nil)
	if got, diags := gone.listed("etcd_member", 0, false); len(got) > 0 || len(diags) != 1 || !strings.HasPrefix(diags[0], "error: Cannot list members: The cluster does not answer.") {
		t.Errorf("nobody answers: %v, %v", got, diags)
	}
}
