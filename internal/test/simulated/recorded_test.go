// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// scenarioFile names another file than those of testdata.
const scenarioFile = "SCENARIO"

// TestRecorded holds the simulated world to the record that TestAccRecorded of package acctest
// holds real processes to. UPDATE=1 rewrites the record, SCENARIO names another one.
func TestRecorded(t *testing.T) {
	file := cmp.Or(os.Getenv(scenarioFile), "testdata/recorded.txt")
	var text []string
	for _, want := range scenario.Read(t, file) {
		t.Run(want.Name, func(t *testing.T) {
			got := recorded(t, want).String()
			if text = append(text, got); got != want.String() && os.Getenv("UPDATE") == "" {
				t.Errorf("it differs from %s. If it should, run with UPDATE=1 and read the difference.\n%s", file, got)
			}
		})
	}
	if os.Getenv("UPDATE") != "" && !t.Failed() {
		must.Succeed(t, os.WriteFile(file, []byte(strings.Join(text, "\n")), 0o600))
	}
}

// recorded runs a scenario, at the end of which nothing is to do. It returns the scenario with
// what came of its commands.
func recorded(t *testing.T, of scenario.Scenario) scenario.Scenario {
	t.Helper()
	out := scenario.Scenario{Name: of.Name, Seed: of.Seed, Judged: true}
	dir := t.TempDir()
	simulate(t, of.Seed, "", func(w *world) {
		s := newRunner(w)
		s.vars["dir"] = dir
		s.judge()
		for _, step := range of.Steps {
			if does, _ := scenario.Divide(step); !strings.HasPrefix(does, "members ") {
				out.Steps = append(out.Steps, s.record(does)...)
			}
		}
		if !s.lost {
			s.empty("in the end")
		}
	})
	return out
}

// record runs a step. It returns the step, with what came of it if it is a command.
func (s *runner) record(step string) []string {
	verb, _, _ := strings.Cut(step, " ")
	var before []*pb.Member
	if s.cluster != nil {
		before = s.cluster.Members()
	}
	if s.do(step); !slices.Contains([]string{"form", "plan", "apply", "saved", "destroy"}, verb) {
		return []string{step}
	}
	o := scenario.Outcome{Errors: errorsIn(s.said)}
	if verb != "form" {
		s.rest(time.Minute)
	}
	if verb != "destroy" {
		o.Members = scenario.Members(before, s.cluster.Members())
	}
	return o.Steps(step)
}

// TestFound runs the scenarios that the search has found, or those of the file SCENARIO.
func TestFound(t *testing.T) {
	t.Parallel()
	for _, c := range scenario.Read(t, cmp.Or(os.Getenv(scenarioFile), "testdata/found.txt")) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runScenario(t, c, "", nil)
		})
	}
}
