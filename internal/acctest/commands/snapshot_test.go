// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const theSnapshot = "etcd_snapshot.this"

// snapshots is a workspace for a cluster. Each configuration in it is one
// etcd_snapshot with these arguments and the path etcd.db.
type snapshots struct {
	*acctest.Workspace
	t       *testing.T
	cluster *etcdtest.Cluster
	access  acctest.Access
	// ids are the IDs of the cluster, under "", and of its members, by name.
	ids map[string]string
}

func newSnapshots(t *testing.T, b *etcdtest.Cluster) *snapshots {
	t.Helper()
	s := &snapshots{Workspace: acctest.NewWorkspace(t, acctest.WorkspaceOptions{}), t: t, cluster: b, access: acctest.Access{Endpoints: b.Endpoints()}}
	s.know()
	s.configure("")
	return s
}

// know reads the IDs, which requires a quorum.
func (s *snapshots) know() {
	s.t.Helper()
	list, err := s.cluster.Client(s.t).MemberList(etcdtest.WaitContext(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	s.ids = map[string]string{"": fmt.Sprintf("%x", list.Header.ClusterId)}
	for _, m := range list.Members {
		s.ids[m.Name] = fmt.Sprintf("%x", m.ID)
	}
}

func (s *snapshots) configure(arguments string) { s.configureAt("etcd.db", arguments) }

func (s *snapshots) configureAt(path, arguments string) {
	s.t.Helper()
	s.Write("main.tf", required+s.access.ProviderConfig()+fmt.Sprintf("resource \"etcd_snapshot\" \"this\" {\n  path = %q\n%s\n}\n", path, arguments))
}

// mustHold fails the test unless the file is the complete snapshot that the state
// describes. It returns the status from etcdutl and the name of the member.
func (s *snapshots) mustHold(name string) (status etcdtest.SnapshotStatus, of string) {
	s.t.Helper()
	path := filepath.Join(s.Dir, name)
	at, err := os.Stat(path)
	text, readErr := os.ReadFile(path)
	if err != nil || readErr != nil || at.Mode() != 0o600 {
		s.t.Fatalf("%v, %v, mode %v", err, readErr, at.Mode())
	}
	status = etcdtest.EtcdutlStatus(s.t, path)
	state := s.State(theSnapshot)
	for attribute, want := range map[string]any{
		"path": name, "sha256": fmt.Sprintf("%x", sha256.Sum256(text)), "size": len(text),
		"cluster_id": s.ids[""],
	} {
		if got := state[attribute]; fmt.Sprint(plainNumber(got)) != fmt.Sprint(want) {
			s.t.Errorf("%s is %v, want %v", attribute, got, want)
		}
	}
	// Writes during the transfer may be in the file or not.
	if revision, ok := state["revision"].(float64); !ok || int64(revision) < status.Revision {
		s.t.Errorf("revision is %v, and the file has %d", state["revision"], status.Revision)
	}
	of, _ = state["member_name"].(string)
	p := s.cluster.Member(of)
	if id := s.ids[of]; state["member_id"] != id || !strings.HasPrefix(fmt.Sprint(state["version"]), string(p.Version)+".") {
		s.t.Errorf("it is of %v (%v) in version %v, want %s in %s", of, state["member_id"], state["version"], s.ids[of], p.Version)
	}
	return status, of
}

// plainNumber formats a large number as an integer: JSON decodes it as a float.
func plainNumber(v any) any {
	if f, ok := v.(float64); ok {
		return strconv.FormatInt(int64(f), 10)
	}
	return v
}

// mustHaveFiles fails the test unless exactly these snapshots are in the directory, and no
// other file but their records.
func (s *snapshots) mustHaveFiles(want ...string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		of, record := strings.CutSuffix(strings.TrimPrefix(e.Name(), "."), ".receipt")
		if strings.Contains(e.Name(), ".db") && (!record || !slices.Contains(want, of)) {
			got = append(got, e.Name())
		}
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		s.t.Errorf("there are %v, want %v", got, want)
	}
}

func (s *snapshots) write(keys int) {
	s.t.Helper()
	client := s.cluster.Client(s.t)
	for i := range keys {
		if _, err := client.Put(s.t.Context(), fmt.Sprint("key", i), "value"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// With a member down and under writes, etcdutl accepts the snapshot, the leader
// is not used for it, the next plan is empty, and new triggers take another
// snapshot. (With ETCD_TEST_FULL=1 on each version.)
func TestAccSnapshot(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V37) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			s := newSnapshots(t, b)
			s.write(50)
			s.configure(`triggers = { day = "monday" }`)
			plan := s.Plan()
			plan.MustDo(map[string]string{theSnapshot: "create"})
			s.Apply().MustSucceed().MustBeQuiet()
			status, of := s.mustHold("etcd.db")
			if leader := b.Leader(t); of == leader.Name || status.TotalKey < 50 {
				t.Errorf("%s leads, and of %s %+v was saved", leader.Name, of, status)
			}
			s.Plan().MustBeEmpty()
			s.mustHaveFiles("etcd.db")

			// One member is down, clients write, and the triggers change.
			down := b.Leader(t)
			down.Kill()
			b.Leader(t)
			writer := b.NewWriter(t, etcdtest.WriterOptions{})
			before := writer.Acknowledged()
			s.configure("delete_file = true\ntriggers = { day = \"tuesday\" }")
			plan = s.Plan()
			plan.MustDo(map[string]string{theSnapshot: "update"})
			s.Apply().MustSucceed().MustBeQuiet()
			now, of := s.mustHold("etcd.db")
			if of == down.Name || now.Revision < before[len(before)-1].Revision {
				t.Errorf("revision %d of %s, and %d was acknowledged before", now.Revision, of, before[len(before)-1].Revision)
			}
			s.Plan().MustBeEmpty()
			s.mustKeepTheBetter(etcdtest.Start(t, 1, etcdtest.Options{Version: v}))
		})
	}
}

// mustKeepTheBetter checks that the file stays if the address answers for another
// cluster, which is empty.
func (s *snapshots) mustKeepTheBetter(other *etcdtest.Cluster) {
	s.t.Helper()
	good := s.Read("etcd.db")
	s.access.Endpoints = other.Endpoints()
	s.configure("delete_file = true")
	s.Apply("-replace=" + theSnapshot).MustFail().MustSay("Cannot save a snapshot")
	if s.Read("etcd.db") != good {
		s.t.Fatal("the file was replaced")
	}
}

// A learner is preferred. If the quorum is lost, the member with the most data
// is named, only its data is saved, and nothing else changes. The learner's
// data is saved if it is selected.
func TestAccSnapshotOfSurvivor(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	s := newSnapshots(t, b)
	learner := b.AddLearner(t, "learner1")
	b.Track(learner)
	s.access.Endpoints = b.Endpoints()
	s.know()
	s.write(20)
	s.configure("")
	s.Apply().MustSucceed().MustBeQuiet()
	if status, of := s.mustHold("etcd.db"); of != "learner1" || status.TotalKey < 20 {
		t.Errorf("of %s %+v was saved", of, status)
	}
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	applied := func(p *etcdtest.Process) uint64 {
		status, err := p.Client(t).Status(etcdtest.WaitContext(t), p.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		return status.RaftAppliedIndex
	}
	most := "infra1"
	if applied(learner) > applied(b.Member(most)) {
		most = "learner1"
	}
	s.configureAt("etcd2.db", "")
	s.Apply().MustFail().MustSay("Cannot save a snapshot").MustContain(t, "Cannot save a snapshot", "has lost its quorum", "To save what "+most, fmt.Sprintf("set member = %q", most))
	s.mustHaveFiles("etcd.db")

	s.Write("survivor.tf", "data \"etcd_cluster\" \"this\" {}\n")
	for path, member := range map[string]string{"etcd2.db": "data.etcd_cluster.this.survivor.name", "etcd3.db": `"learner1"`} {
		want := most
		if path == "etcd3.db" {
			want = "learner1"
		}
		s.configureAt(path, "member = "+member)
		plan := s.Plan()
		plan.MustDo(map[string]string{theSnapshot: "update"})
		s.Apply().MustSucceed().Says("The snapshot may be behind")
		if status, of := s.mustHold(path); of != want || status.TotalKey < 20 {
			t.Errorf("of %s %+v was saved", of, status)
		}
		s.Plan().MustBeEmpty()
	}
	s.mustHaveFiles("etcd.db", "etcd2.db", "etcd3.db")
}

// The states of the file, and an existing file at its path.
func TestAccSnapshotFile(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	s := newSnapshots(t, b)
	path := filepath.Join(s.Dir, "etcd.db")
	other := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// Another file exists at the path.
	other("another's")
	s.Plan().MustSay("Cannot save a snapshot")
	s.configure("overwrite = true")
	s.Apply().MustSucceed().MustBeQuiet()
	s.mustHold("etcd.db")

	// Changing an argument that does not affect the snapshot takes no new one.
	was := s.State(theSnapshot)["sha256"]
	s.write(1)
	s.configure("require_file = true")
	plan := s.Plan()
	plan.MustDo(map[string]string{theSnapshot: "update"})
	s.Apply().MustSucceed().MustBeQuiet()
	if s.mustHold("etcd.db"); s.State(theSnapshot)["sha256"] != was {
		t.Error("another snapshot was taken")
	}

	// One bit of the file has changed, but neither its size nor its time.
	at, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(s.Read("etcd.db"))
	text[len(text)/2] ^= 1
	other(string(text))
	if err := os.Chtimes(path, at.ModTime(), at.ModTime()); err != nil {
		t.Fatal(err)
	}
	plan = s.Plan()
	plan.MustDo(map[string]string{theSnapshot: "update"})
	plan.Says("The snapshot file has changed")
	s.Apply("-refresh-only").MustSucceed()
	s.Plan().MustDo(map[string]string{theSnapshot: "update"})
	s.Apply().MustSucceed()
	s.mustHold("etcd.db")
	s.Plan().MustBeEmpty()

	// Another path keeps the previous file, or deletes it.
	s.configureAt("etcd2.db", "delete_file = true")
	s.Apply().MustSucceed().MustBeQuiet()
	s.mustHaveFiles("etcd.db", "etcd2.db")
	s.configureAt("etcd3.db", "delete_file = true")
	s.Apply().MustSucceed().MustBeQuiet()
	s.mustHold("etcd3.db")
	s.mustHaveFiles("etcd.db", "etcd3.db")

	// The destroy needs no cluster, and deletes the unchanged file.
	b.Members()[0].Kill()
	s.Plan().MustBeEmpty()
	s.Destroy().MustSucceed().MustBeQuiet()
	s.mustHaveFiles("etcd.db")
}

// Two resources with one file are refused at plan, and the destroy keeps a file that has
// changed.
func TestAccSnapshotRefused(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	s := newSnapshots(t, b)
	s.configureAt("no/etcd.db", "")
	s.Plan().MustSay("Cannot save a snapshot")
	s.configure("delete_file = true")
	main := s.Read("main.tf")
	s.Write("main.tf", main+fmt.Sprintf("resource \"etcd_snapshot\" \"other\" {\n  path = %q\n}\n", filepath.Join(s.Dir, "x", "..", "etcd.db")))
	s.Plan().MustSay("Two snapshots at one path")
	s.Write("main.tf", main)
	s.Apply().MustSucceed().MustBeQuiet()
	s.Run("import", "-input=false", theSnapshot+"2", "etcd.db").MustFail()
	if err := os.WriteFile(filepath.Join(s.Dir, "etcd.db"), []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Destroy().MustSucceed().Says("The snapshot file was kept")
	s.mustHaveFiles("etcd.db")
}
