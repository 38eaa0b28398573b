// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutation is a mistake put into the code: in file, from becomes to.
type mutation struct {
	name, file, from, to string
}

// mutations are mistakes that would cost a cluster. The campaign must detect each
// of them.
var mutations = []mutation{
	{"quorum off by one", "quorum.go", "return n/2 + 1", "return n / 2"},
	{"learner counted as voter", "snapshot.go", "func(m Member) bool { return !m.Learner }", "func(m Member) bool { return true }"},
	{"dead learner promoted", "promote.go", "case !s.answers(m.ID):", "case false:"},
	{"own death not counted at promotion", "promote.go", "t.project(r.ID, len(voters)+1)", "t.project(r.ID, len(voters))"},
	{"own death not counted at addition", "add.go", "t.project(0, len(voters)+1)", "t.project(0, len(voters))"},
	{"own leaving not counted at removal", "remove.go", "rest := s.tallyOf(voters, r.ID)", "rest := s.tallyOf(voters, 0)"},
	{"last voter replaced", "remove.go", "if len(voters) == 1 {", "if len(voters) == 1 && !r.Replacement {"},
	{"leader not moved", "remove.go", "return s.handOver(out, r.ID, rest[alive], r.Leaving)", "return out"},
	{"stale view accepted", "quorum.go", "n >= Quorum(len(voters)) &&", "n >= 1 &&"},
	{"unconfirmed list accepted", "gate.go", "case s.Linearizable:", "case true:"},
	{"another member's answer taken for this one's", "quorum.go", "a.MemberID == id &&", ""},
}

// moreMutations are lesser mistakes, for the full campaign only.
var moreMutations = []mutation{
	{"quorum of an even number is half", "quorum.go", "return n/2 + 1", "return (n + 1) / 2"},
	{"learner believed as leader", "quorum.go", "listed && !m.Learner {", "listed && m.ID != 0 {"},
	{"learner that never started promoted", "promote.go", "case !m.Started():", "case false:"},
	{"learner of another term promoted", "promote.go", "|| a.Term != term:", "&& a.Term != term:"},
	{"lagging learner promoted", "promote.go", "f.Lag > f.MaxLag {", "false {"},
	{"learner promoted at first sight", "promote.go", "b := r.Before", "b := a\n\tb.Applied--"},
	{"learner that calls itself a voter promoted", "promote.go", "case !a.Learner:", "case false:"},
	{"own absence not counted at an update", "update.go", "rest := s.tallyOf(voters, r.ID)", "rest := s.tallyOf(voters, 0)"},
	{"leader readdressed while it leads", "update.go", "return s.handOver(out, r.ID, rest[alive], nil)", "return out"},
	{"leader asked to hand over that cannot be asked", "remove.go", "case !s.answers(leader):", "case false:"},
	{"last voter removed", "remove.go", "if len(voters) == 1 {", "if len(voters) == 1 && r.Replacement {"},
	{"replaced while another is down", "remove.go", "case !r.Replacement ||", "case true ||"},
	{"leader moved to one that leaves", "remove.go", "a != b {", "a != b && false {"},
	{"leader moved to one that is behind", "remove.go", "return x.Index > y.Index", "return x.Index < y.Index"},
	{"voters that serve no reads accepted", "quorum.go", "(m.Learner || s.Answer(id).ReadOK)", "m.ID != 0"},
	{"member of another cluster not told apart", "gate.go", "case a.State == WrongCluster,", "case false,"},
	{"quorum called lost where it may not be", "gate.go", "case s.Linearizable || today.Alive > 0:", "case false:"},
	{"silent taken for unknown", "gate.go", "case a.State == Silent:", "case false:"},
	{"old releases taken for new ones", "version.go", "lacksFix(version, 30, 11)", "false"},
	{"learner slot not looked at", "add.go", "len(learners) > 0 &&", "false &&"},
	{"no waiting for those that leave", "remove.go", "case f.Alive >= Quorum(f.Voters-len(departing)):", "case false:"},
}

// TestCampaignCatchesMistakes puts each mistake into the code, with an overlay for
// that file, and runs the campaign over clusters of up to four members. The campaign
// must fail. The test also fails if the text of a mutation is no longer in the code.
func TestCampaignCatchesMistakes(t *testing.T) {
	tried := mutations
	if os.Getenv("ETCD_TEST_FULL") != "" {
		tried = slices.Concat(mutations, moreMutations)
	}
	t.Logf("%d mistakes", len(tried))
	for _, m := range tried {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := runMutated(t, m)
			if err == nil {
				t.Fatalf("the campaign does not notice it:\n%s", out)
			}
			if !strings.Contains(out, "--- FAIL: TestEveryCluster") {
				t.Fatalf("it is not the campaign that failed: %v\n%s", err, out)
			}
		})
	}
}

func runMutated(t *testing.T, m mutation) (string, error) {
	t.Helper()
	source, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.from); n != 1 {
		t.Fatalf("%s holds %q %d times, want once", m.file, m.from, n)
	}
	dir := t.TempDir()
	mutated := filepath.Join(dir, m.file)
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), m.from, m.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, m.file): mutated}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// Only the files of the campaign: a binary with all tests of the package
	// links an etcd client, which takes longer than the campaign.
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-overlay=" + list, "-run=^TestEveryCluster$/^[1-4]_members$"}, files...)
	args = append(args, "campaign_test.go", "naive_test.go", "world_test.go")
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	return string(out), err
}
