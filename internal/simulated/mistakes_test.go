// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// mistakes are put into the code: in file, from becomes to. Each removes a rule of
// safety.md, and the tests that by names must fail then. They are in this package, or in
// the directory that stands before them.
var mistakes = []mistake{
	{"two nodes are rebuilt in one plan", "membership/nodes.go", "due = slices.Delete(due, i, i+1)\n\t\t\tbreak", "continue", "TestSearch"},
	{"a plan without a refresh rebuilds", "membership/queue.go", "len(unseen) > 0", "false", "TestRules/C1_"},
	{"nodes on their way do not count", "membership/queue.go", "case len(onTheWay) > 0:", "case false:", "TestSearch"},
	{"the quorum is not counted (C1)", "membership/queue.go", "f.Quorum = Quorum(f.Voters)", "f.Quorum = 0", "TestRules/C1_"},
	{"two living voters are replaced", "membership/entries.go", "len(replaced) > 1 {\n\t\tout = append(out, brokenBy(SecondReplacement", "len(replaced) > 9 {\n\t\tout = append(out, brokenBy(SecondReplacement", "TestSearch"},
	{"a removal takes the quorum", "membership/remove.go", "if quorum != won {", "if quorum == lost+9 {", "TestRules/C1_"},
	{"the leader is removed", "membership/remove.go", "return s.handOver(out, r.ID, rest[alive], r.Leaving)", "return out", "TestSearch"},
	{"a dead learner is promoted", "membership/promote.go", "if d := firstOf(old, s.follows(m, leader, term)); d.Verdict != Go {\n\t\treturn d", "if d := firstOf(old, s.follows(m, leader, term)); d.Verdict != Go {\n\t\treturn Decision{Verdict: Go}", "TestRules/a_learner"},
	{"others need not be active", "membership/remove.go", ", s.othersActive(m, r.Leaving))", ")", "TestRules/a_replacement"},
	{"turns do not count (C13)", "membership/turn.go", "if len(others) == 0 ||", "if len(others) < 9 ||", "TestRules/C13_"},
	{"a replacement is taken for a removal", "provider/clustermember/plan.go", "kept{e.Effect == membership.Removed,", "kept{true,", "TestRules/a_replacement"},
	{"nothing is recorded before a member is added", "reconfigure/join.go", "if err := j.write(ctx, cluster.Intended, 0); err != nil {", "if err := ctx.Err(); err != nil {", "TestLife/grow|TestSearch"},
	{"the record names no member", "reconfigure/join.go", "return j.write(ctx, cluster.Added, id)", "return nil", "TestRules/a_member"},
	{"a name that is gone leaves its member", "provider/cluster/resource.go", "!stays && err == nil", "!stays && err != nil", "TestRules/a_member"},
	{"another cluster is believed (C4)", "provider/backend/engine.go", "case has != 0 && snap.ClusterID != has:", "case false:", "TestRules/C4_|TestSearch"},
	{"peers that moved are not noticed (C10)", "membership/successor.go", "return PeersMoved", "return \"\"", "TestNodes/a_machine"},
	{"an open window is not noticed (C11)", "membership/successor.go", "case e.WindowOpen:", "case false:", "TestNodes/inside"},
	{"a tainted cluster is new (C14)", "provider/cluster/create.go", "InState(r.Backend.Table.Clusters(), peers); ok {", "InState(r.Backend.Table.Clusters(), nil); ok {", "TestRules/C14_"},
	{"a lost member is new (C15)", "membership/clusterentries.go", "return c.Formed && ", "return false && ", "TestRules/C15_"},
	{"two etcd_cluster share a URL (C16)", "membership/clusterentries.go", "other.Object != c.Object {", "false {", "TestWalk/two_etcd"},
	{"two states change one cluster (C16)", "provider/cluster/object.go", "if changes {", "if changes && false {", "TestImports/C16_"},
	{"members that the state lost are new", "membership/successor.go", "return e, listed &&", "return e, !listed &&", "TestImports/members_that"},
	{"other versions do not count (C17)", "membership/queue.go", "case len(deviating) > 0:", "case false:", "TestRules/C17_"},
	{"an imported node follows its machine (C18)", "membership/successor.go", "case e.Imported:", "case false:", "TestImports/C18_"},
	{"an imported node follows its machine at once (C18)", "membership/successor.go", "&& e.Before.Node != \"\" || e.After", "|| e.After", "../membership TestRules"},
	{"a name that never came up blocks the others", "membership/nodes.go", "n.neverCameUp(e)", "false", "TestRules/a_name"},
	{"a new node starts on its old machine", "membership/successor.go", "return MachineStays", "return \"\"", "TestNodes/a_node"},
	{"late initial members wait for each other", "reconfigure/rejoin.go", "m.Started() && !known", "!known", "TestDeadEnds/late"},
	{"a member that never ran is taken for another one", "reconfigure/ownership.go", "moved := c.record.Started && ", "moved := ", "TestSearch"},
	{"the servers are not asked for a place", "membership/place.go", "return wait(LearnerSlotTaken, f)", "return Decision{Verdict: Go}", "TestDeadEnds/a_dead_standby_holds_the"},
	{"a member that never starts is named by nothing", "reconfigure/ownership.go", "return r.Awaited && ", "return !r.Awaited && ", "TestDeadEnds/F1_"},
	{"a member is removed after it was joined", "provider/clustermember/resource.go", "Table.HasJoined(id) {", "Table.HasJoined(id) && false {", "TestBadDays/create"},
	{"what an earlier node left stays (C2)", "reconfigure/rejoin.go", "range r.Replaces {", "range r.Replaces[:0] {", "TestNodes/left"},
	{"a dead voter of our own stays (C2)", "reconfigure/rejoin.go", "j.req.Restart == 0 ||", "j.req.Restart == 0 || !j.member.Learner ||", "TestNodes/lost"},
	{"a withdrawal asks nothing (C3)", "provider/cluster/giveup.go", "given.Why = out.action", "given.Unasked = true", "TestRestores/a_restored_cluster_is_not"},
	{"a voter needs no list of a silent one (C5)", "joinscript/rules/judge.sh", "!learner[view, us] && missing", "!learner[view, us] && 0", "../joinscript TestStarts"},
	{"a voter needs no list of a silent one, in Go (C5)", "joinscript/rules/rules.go", "m.Mark || !m.unanimous(*view)", "m.Mark", "../joinscript/rules TestDecide"},
	{"a voter ignores its mark (C5)", "joinscript/main.sh", "if ! started_here && [ \"$was\" = \"$verdict\" ]", "if [ \"$was\" = \"$verdict\" ]", "../joinscript TestStarts"},
	{"a voter ignores its mark, in Go (C5)", "joinscript/rules/rules.go", "if m.Mark || m.Before != basis {", "if m.Before != basis {", "../joinscript/rules TestDecide"},
	{"a learner that does not start stays (C6)", "reconfigure/rejoin.go", "j.req.Restart == 0 ||", "j.req.Restart == 0 || j.member.Learner ||", "TestNodes/wiped"},
	{"peers that are only named vote (C7)", "joinscript/rules/judge.sh", "if (2 * ours > voters ||", "if (2 * all > voters ||", "../joinscript TestStarts"},
	{"peers that are only named vote, in Go (C7)", "joinscript/rules/rules.go", "told += one(slices.Contains(m.Peers, o.PeerURL))", "told++", "../joinscript/rules TestDecide"},
	{"a wiped member gives up for good (C8)", "joinscript/main.sh", "replace the member\"\n\t\tslower\n", "replace the member\"\n\t\tnever \"$why_not\"\n", "../joinscript TestStarts"},
	{"a wiped member gives up for good, in Go (C8)", "joinscript/rules/rules.go", "return Wait, \"\" // C8", "return Never, \"\"", "../joinscript/rules TestDecide"},
	{"data of a removed member stays (C9)", "joinscript/main.sh", "\t\t1join*)", "\t\t9join*)", "../joinscript TestStarts"},
	{"data of a removed member stays, in Go (C9)", "joinscript/rules/rules.go", "if fresh && me.Learner {", "if false {", "../joinscript/rules TestDecide"},
	{"what answers with an error is gone (N1)", "membership/giveup.go", "return !h.Silent && slices.Contains(m.ClientURLs, h.Endpoint)", "return false", "../membership TestGiveUp$"},
	{"what is no member is silence (N1)", "cluster/errors.go", "return all != 0 && all&^silence == 0", "return all != 0 && err != nil", "../cluster TestEvidence"},
	{"silence is gone (N1)", "membership/giveup.go", "silent = true", "gone = true", "../membership TestGiveUp$"},
	{"another address is gone (N1)", "membership/giveup.go", "!h.Literal || ", "", "../membership TestGiveUp$"},
	{"a quorum is not counted (N1)", "membership/giveup.go", "open >= limit", "open > limit", "../membership TestGiveUp$"},
	{"the plan of a restore asks nothing (N1)", "provider/cluster/giveup.go", "!does.lost.Unasked && !r.Backend.Table.Applies()", "false", "TestRestores/closed_tunnels"},
	{"the apply of a restore asks nothing (N1)", "provider/cluster/giveup.go", "r.ask(ctx, does.lost, true, diags)", "", "TestRestores/closed_tunnels"},
	{"a statement needs no silence (N2)", "membership/giveup.go", "case proof == provesServer && stated:", "case false:", "TestRestores/a_restore_with"},
	{"a later plan of a restore asks nothing (N2)", "provider/cluster/giveup.go", "now.gone(), out.action\n", "now.gone(), out.action\n\t\tout.lost.Unasked = true\n", "TestRestores/a_restore_is_withdrawn"},
	{"a name that is taken out of gone stays stated (N2)", "provider/cluster/giveup.go", "= !takenOut,", "= true || takenOut,", "TestFoundGames/a_restore_goes_on"},
	{"a rebuild that nobody followed is carried out for ever", "membership/queue.go", "reason == NodesNext || reason == NodesUnobserved || reason == NodesUnsaved {", "reason != NodesUnobserved {", "TestFoundGames/a_rebuild"},
	{"a restore keeps nothing to go back to (N2)", "provider/cluster/giveup.go", "kept = beforeOf(ctx, does.state, does.lost, diags)", "kept.Lost = does.lost", "TestRestores/a_restore_is_withdrawn"},
	{"a restore cannot be withdrawn (N2)", "membership/restore.go", "return RestoreWithdrawn, \"\"", "return RestoreNothing, \"\"", "TestRestores/a_restore_is_withdrawn"},
	{"another cluster's backup replaces a backup (N3)", "membership/save.go", "case now.Cluster != was.Cluster:", "case false:", "TestBackupStays"},
	{"an older backup replaces a newer one (N3)", "membership/save.go", "case now.Least < was.Most:", "case false:", "TestBackupStays"},
	{"the record beside a backup is not read (N3)", "reconfigure/savefile.go", "if is, ok := recorded(ctx, r.Path); ok {", "if is, ok := recorded(ctx, r.Path); ok && false {", "TestBackupStays"},
	{"two changes of peer URLs at once (N4)", "membership/pendingurls.go", "if len(others) == 0 ||", "if len(others) >= 0 ||", "TestPendingPeerURLs$"},
	{"a change of peer URLs is not recorded (N4)", "reconfigure/update.go", "if err := u.record(ctx); err != nil {", "if err := ctx.Err(); err != nil {", "TestPendingPeerURLs$"},
	{"a change of peer URLs needs no restart (N4)", "membership/pendingurls.go", "return URLsNotRestarted\n", "return URLsSettled\n", "TestPendingPeerURLs$"},
	{"a change of peer URLs needs no connection (N4)", "membership/pendingurls.go", "case s.Alive(c.ID) && connected >= Quorum(len(others)):", "case s.Alive(c.ID):", "TestPendingPeerURLs$"},
	{"a member with a pending change counts (N4)", "membership/gate.go", "case s.Alive(m.ID) && s.isPending(m.ID):", "case false:", "TestPendingPeerURLs$"},
	{"the member that leaves counts", "membership/remove.go", "rest := s.tallyOf(voters, r.ID)", "rest := s.tallyOf(voters, 0)", "TestRules/C1_"},
	{"a member that was added by hand is taken over", "membership/identify.go", "case m.Learner && abandoned(m, r.Abandoned):", "case m.Learner:", "../membership TestDecisions"},
	{"a removal is forced on any error", "reconfigure/remove.go", "if err != nil && undecidable(err) {\n\t\tout, err = e.forgetIfLost(ctx, r, out, err)", "if err != nil {\n\t\tout, err = Removed{Forgotten: err}, nil", "TestRules/C1_"},
	{"the quorum is asked once", "reconfigure/lock.go", "return errLockJustTaken", "return nil", "TestSearch"},
	{"a node is rebuilt beside an unhealthy one", "membership/queue.go", "case len(unhealthy) > 0:", "case false:", "../membership TestDecisions"},
	{"a wiped member starts (C8)", "joinscript/rules/rules.go", "fresh := me != nil && !me.Started", "fresh := me != nil", "../joinscript/rules TestDecide"},
	{"a learner that is added anew ends a turn (C13)", "reconfigure/remove.go", "!l.req.Replacement && !l.req.KeepRecord &&", "!l.req.Replacement &&", "TestFoundGames/a_turn"},
	{"a statement forgets what answers (N5)", "reconfigure/giveup.go", "err := e.GiveUp(ctx, r.Cluster, nil)\n", "var err error\n", "TestRestores/N5_"},
	{"quorum off by one", "membership/quorum.go", "return n/2 + 1", "return n / 2", "../membership TestEveryCluster/[1-4]"},
	{"learner counted as voter", "membership/snapshot.go", "func(m Member) bool { return !m.Learner }", "func(m Member) bool { return true }", "../membership TestEveryCluster/[1-4]"},
	{"dead learner promoted", "membership/promote.go", "case !s.answers(m.ID):", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"own death not counted at promotion", "membership/promote.go", "t.project(id, len(voters)+1)", "t.project(id, len(voters))", "../membership TestEveryCluster/[1-4]"},
	{"own death not counted at addition", "membership/add.go", "t.project(0, len(voters)+1)", "t.project(0, len(voters))", "../membership TestEveryCluster/[1-4]"},
	{"last voter replaced", "membership/remove.go", "if len(voters) == 1 {", "if len(voters) == 1 && !r.Replacement {", "../membership TestEveryCluster/[1-4]"},
	{"stale view accepted", "membership/quorum.go", "n >= Quorum(len(voters)) &&", "n >= 1 &&", "../membership TestEveryCluster/[1-4]"},
	{"unconfirmed list accepted", "membership/gate.go", "case s.Linearizable:", "case true:", "../membership TestEveryCluster/[1-4]"},
	{"another member's answer taken for this one's", "membership/snapshot.go", "a.MemberID == id &&", "", "../membership TestEveryCluster/[1-4]"},
	{"quorum of an even number is half", "membership/quorum.go", "return n/2 + 1", "return (n + 1) / 2", "../membership TestEveryCluster/[1-4]"},
	{"learner believed as leader", "membership/quorum.go", "listed && !m.Learner {", "listed && m.ID != 0 {", "../membership TestEveryCluster/[1-4]"},
	{"learner that never started promoted", "membership/promote.go", "case !m.Started():", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"learner of another term promoted", "membership/promote.go", "|| a.Term != term:", "&& a.Term != term:", "../membership TestEveryCluster/[1-4]"},
	{"lagging learner promoted", "membership/promote.go", "s.lags(id) {", "false {", "../membership TestEveryCluster/[1-4]"},
	{"learner promoted at first sight", "membership/promote.go", "learned := before.IsOf", "before = a\n\tbefore.Applied--\n\tlearned := before.IsOf", "../membership TestEveryCluster/[1-4]"},
	{"learner that calls itself a voter promoted", "membership/promote.go", "case !a.Learner:", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"own absence not counted at an update", "membership/update.go", "rest := s.tallyOf(voters, r.ID)", "rest := s.tallyOf(voters, 0)", "../membership TestEveryCluster/[1-4]"},
	{"leader readdressed while it leads", "membership/update.go", "return s.handOver(out, r.ID, rest[alive], nil)", "return out", "../membership TestEveryCluster/[1-4]"},
	{"leader asked to hand over that cannot be asked", "membership/remove.go", "case !s.answers(leader):", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"last voter removed", "membership/remove.go", "if len(voters) == 1 {", "if len(voters) == 1 && r.Replacement {", "../membership TestEveryCluster/[1-4]"},
	{"replaced while another is down", "membership/remove.go", "case !r.Replacement ||", "case true ||", "../membership TestEveryCluster/[1-4]"},
	{"leader moved to one that leaves", "membership/remove.go", "a != b {", "a != b && false {", "../membership TestEveryCluster/[1-4]"},
	{"leader moved to one that is behind", "membership/remove.go", "return x.Index > y.Index", "return x.Index < y.Index", "../membership TestEveryCluster/[1-4]"},
	{"voters that serve no reads accepted", "membership/quorum.go", "(m.Learner || s.Answer(id).ReadOK)", "m.ID != 0", "../membership TestEveryCluster/[1-4]"},
	{"member of another cluster not told apart", "membership/gate.go", "case a.State == WrongCluster,", "case false,", "../membership TestEveryCluster/[1-4]"},
	{"quorum called lost where it may not be", "membership/gate.go", "case answering != won && (s.Linearizable || today.Alive > 0):", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"silent taken for unknown", "membership/gate.go", "case a.State == Silent:", "case false:", "../membership TestEveryCluster/[1-4]"},
	{"a roll without its snapshot", "membership/queue.go", "case n.Unsaved:", "case false:", "TestRules/a_snapshot"},
	{"a snapshot from before the change", "provider/cluster/plan.go", "saved[name] != digest(p.wanted[name], diags)", "saved[name] == \"\"", "TestRules/a_snapshot"},
	{"an upgrade from every patch release", "membership/upgrade.go", "case len(tooOld) > 0:", "case false:", "../membership TestUpgradeFromEveryPatch"},
	{"old releases taken for new ones", "membership/version.go", "lacksFix(version, 30, 11)", "false", "../membership TestEveryCluster/[1-4]"},
	{"learner slot not looked at", "membership/add.go", "len(learners) > 0 &&", "false &&", "../membership TestEveryCluster/[1-4]"},
	{"no waiting for those that leave", "membership/remove.go", "case f.Alive >= Quorum(f.Voters-len(departing)):", "case false:", "../membership TestEveryCluster/[1-4]"},
}

// searched are the mistakes that the search finds within 2,000 commands, and prints as a
// test.
var searched = []string{
	"nodes on their way do not count", "a dead learner is promoted", "the member that leaves counts", "a member that was added by hand is taken over",
	"what is no member is silence (N1)", "another cluster's backup replaces a backup (N3)", "a removal is forced on any error",
	"a member with a pending change counts (N4)", "a wiped member starts (C8)",
	"a node is rebuilt beside an unhealthy one", "turns do not count (C13)", "the quorum is asked once",
}

// Each mistake is still one that the code can have.
func TestMistakesFit(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		plant(t, filepath.Join(t.TempDir(), "overlay.json"), "../"+m.file, m.from, m.to)
	}
}

// TestMistakes puts each mistake into the code, with an overlay for that file. The tests
// of the short run that it names must fail.
func TestMistakes(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("it compiles this package for each mistake: run make test-full")
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			dir, by, elsewhere := strings.Cut(m.by, " ")
			if !elsewhere {
				dir, by = ".", m.by
			}
			if out, failed := m.run(t, dir, by); !failed {
				t.Errorf("%s does not notice it:\n%s", m.by, out)
			}
		})
	}
}

// TestSearchFinds puts the mistakes of searched into the code. The test that the search
// prints then fails 20 times of 20.
func TestSearchFinds(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("it compiles this package for each mistake: run make test-full")
	}
	for _, m := range mistakes {
		if !slices.Contains(searched, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			out, failed := m.run(t, ".", "^TestSearch$/seed/^[0-7]?[0-9]$")
			_, test, printed := strings.Cut(out, "func TestFound(")
			test, _, _ = strings.Cut(test, "        }\n")
			if !failed || !printed {
				t.Fatalf("the search does not find it:\n%s", out)
			}
			found := "package simulated\n\nimport \"testing\"\n\nfunc TestFound(" + test + "}\n"
			again, _ := m.run(t, ".", "^TestFound$", found)
			if n := strings.Count(again, "--- FAIL: TestFound"); n != 20 {
				t.Errorf("it fails %d times of 20:\n%s\n%s", n, found, again)
			}
		})
	}
}

// mistake is a row of mistakes.
type mistake struct{ name, file, from, to, by string }

// run runs the tests of a directory with the mistake, or 20 times those of a file besides.
func (m mistake) run(t *testing.T, dir, tests string, file ...string) (out string, failed bool) {
	t.Helper()
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	plant(t, overlay, "../"+m.file, m.from, m.to, file...)
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-overlay=" + overlay, "-run=" + tests, dir}
	if len(file) > 0 {
		args = []string{"test", "-vet=off", "-count=20", "-overlay=" + overlay, "-run=" + tests, dir}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "ETCD_TEST_FULL=")
	text, err := cmd.CombinedOutput()
	return string(text), err != nil && strings.Contains(string(text), "--- FAIL: ")
}

// plant writes an overlay for the compiler, in which the text of a file is another one, and
// which adds files of tests.
func plant(t *testing.T, overlay, file, from, to string, added ...string) {
	t.Helper()
	source := must.Read(t, file)
	if n := strings.Count(source, from); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, from, n)
	}
	mutated := strings.TrimSuffix(overlay, ".json") + filepath.Ext(file)
	must.Write(t, mutated, strings.Replace(source, from, to, 1))
	path, err := filepath.Abs(file)
	must.Succeed(t, err)
	replace := map[string]string{path: mutated}
	for i, text := range added {
		at, err := filepath.Abs(fmt.Sprintf("added%d_test.go", i))
		must.Succeed(t, err)
		replace[at] = fmt.Sprint(overlay, i, ".go")
		must.Write(t, replace[at], text)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	must.Succeed(t, err)
}
