// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// resultsVariable names the directory that keeps the results of the measures:
// set, it asks for the whole campaign. A measure that is run alone (RUN=) is
// shown together with what is kept of the others.
const resultsVariable = "ETCD_BENCH"

// here is the name of the side that is the provider.
const here = "provider"

// limit is how long one step of a measure may take before the test gives up.
const limit = 4 * time.Minute

// campaign is how much is measured.
type campaign struct {
	whole bool
}

// rounds is how often a measure is taken: n times in the whole campaign, once
// in its short form.
func (c campaign) rounds(n int) int {
	if c.whole {
		return n
	}
	return 1
}

// measure is one line of the table.
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
		{"start", measureStart},
		{"rollout", measureRollout},
	}
}

// Each measure, against its rivals. The short form takes each once, with small
// sizes, all at the same time: its figures mean nothing, only that everything
// works.
func TestMeasures(t *testing.T) {
	dir := os.Getenv(resultsVariable)
	c := campaign{whole: dir != ""}
	t.Run("of", func(t *testing.T) {
		for _, m := range measures() {
			t.Run(m.name, func(t *testing.T) {
				if !c.whole {
					t.Parallel()
				}
				r := result{At: time.Now().UTC(), Before: load()}
				r.Rows = m.run(t, c)
				r.Took, r.After = time.Since(r.At).Seconds(), load()
				if t.Failed() {
					return
				}
				if len(r.Rows) == 0 {
					t.Fatal("nothing was measured")
				}
				for _, row := range r.Rows {
					if len(row.Here) == 0 {
						t.Errorf("%s, %s: nothing was measured", row.Measure, row.Case)
					}
				}
				t.Logf("\n%s", bench.Table(r.Rows))
				if c.whole {
					r.keep(t, dir, m.name)
				}
			})
		}
	})
	if c.whole {
		report(t, dir)
	}
}

// result is what came of one measure.
type result struct {
	Rows []bench.Row
	// At is when it began, Took how many seconds it took.
	At   time.Time
	Took float64
	// Before and After are the load average of one minute.
	Before, After string
}

// load is the machine's load average; "?" where there is none to be read.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return strings.Fields(string(text))[0]
}

// keep stores what was measured.
func (r result) keep(t *testing.T, dir, name string) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// report writes all that is stored into one table.
func report(t *testing.T, dir string) {
	t.Helper()
	var rows []bench.Row
	var conditions strings.Builder
	for _, m := range measures() {
		text, err := os.ReadFile(filepath.Join(dir, m.name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		var r result
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r.Rows...)
		fmt.Fprintf(&conditions, "| `RUN=%s` | %s | %.0f s | %s → %s |\n", m.name, r.At.Format("2006-01-02 15:04 UTC"), r.Took, r.Before, r.After)
	}
	version, _, _ := strings.Cut(string(acctest.NewWorkspace(t, acctest.WorkspaceOptions{}).Run("version").MustSucceed().Stdout), "\n")
	text := fmt.Sprintf("%s\netcd %s, %s, %s, %s/%s, %d processors\n\n| part | begun | took | load average |\n|---|---|--:|---|\n%s",
		bench.Table(rows), etcdtest.DefaultVersion, version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), conditions.String())
	if err := os.WriteFile(filepath.Join(dir, "table.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// within returns a context for one step.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// pause waits.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	<-within(t, d).Done()
}

// seconds is a duration as it stands in a row.
func seconds(d time.Duration) float64 { return d.Seconds() }

// turns calls each of the named functions in every round, each time another
// one first, so that what drifts does so for all. Each has a scope of its own:
// what it starts ends with it.
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

// side is one of those that are compared.
type side struct {
	name string
	run  func(*testing.T)
}
