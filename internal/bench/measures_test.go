// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// documentVariable names the document for the results of the measures. If it is
// set, the whole campaign runs. Each measure replaces its own table.
const documentVariable = "ETCD_BENCH"

// here is the name of the provider's side.
const here = "provider"

// campaign is the scope of the measurements.
type campaign struct{ whole bool }

// rounds returns how often a measure is taken: n times in the whole campaign,
// once in its short form.
func (c campaign) rounds(n int) int {
	if c.whole {
		return n
	}
	return 1
}

// measure is a part of the campaign, with a table of its own.
type measure struct {
	name string
	run  func(*testing.T, campaign) []bench.Row
}

func measures() []measure {
	return []measure{
		{"join", measureJoin},
		{"join-by-log", measureJoinByLog},
		{"boot", measureBoot},
		{"gap", measureGap},
		{"refresh", measureRefresh},
		{"members", measureMembers},
		{"rollout", measureRollout},
	}
}

// TestMeasures runs each measure against its rivals. The short form, with
// ETCD_TEST_FULL=1, runs each one once, with small sizes and in parallel: its
// figures mean nothing, and it only shows that everything works.
func TestMeasures(t *testing.T) {
	document := os.Getenv(documentVariable)
	if document == "" && !etcdtest.Full() {
		t.Skip("make bench measures: set ETCD_TEST_FULL=1 for a short form")
	}
	c := campaign{whole: document != ""}
	t.Run("of", func(t *testing.T) {
		for _, m := range measures() {
			t.Run(m.name, func(t *testing.T) {
				if !c.whole {
					t.Parallel()
				}
				begun, before := time.Now().UTC(), load()
				rows := m.run(t, c)
				took, after := time.Since(begun), load()
				if t.Failed() {
					return
				}
				for _, row := range rows {
					if len(row.Here) == 0 {
						t.Errorf("%s, %s: nothing was measured", row.Measure, row.Case)
					}
				}
				t.Logf("\n%s", bench.Table(rows))
				if c.whole {
					renew(t, document, m.name, fmt.Sprintf("%s\nMeasured on %s in %.0f s; load average %s before, %s after; %s.\n",
						bench.Table(rows), begun.Format("2006-01-02 15:04 UTC"), took.Seconds(), before, after, conditions(t)))
				}
			})
		}
	})
}

// load returns the machine's load average, or "" if it cannot be read.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// renew writes a measured table into the document.
func renew(t *testing.T, document, name, measured string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := bench.Renew(string(text), name, measured)
	if err == nil {
		err = os.WriteFile(document, []byte(renewed), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// conditions returns the versions of the programs and the kind of machine.
func conditions(t *testing.T) string {
	t.Helper()
	cli, _, _ := strings.Cut(string(acctest.NewWorkspace(t, acctest.WorkspaceOptions{}).Run("version").MustSucceed().Stdout), "\n")
	return fmt.Sprintf("etcd %s unless the table names another, %s, %s, %s/%s, %d processors", etcdtest.DefaultVersion, cli, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// turns calls each of the sides in every round. The order rotates, so that
// drift affects all of them. Each side runs as its own subtest: its resources
// end with it.
func turns(t *testing.T, rounds int, sides ...side) {
	t.Helper()
	for round := range rounds {
		for i := range sides {
			s := sides[(round+i)%len(sides)]
			if !t.Run(fmt.Sprintf("%d of %d: %s", round+1, rounds, s.name), s.run) {
				return
			}
		}
	}
}

// side is one of the compared sides.
type side struct {
	name string
	run  func(*testing.T)
}
