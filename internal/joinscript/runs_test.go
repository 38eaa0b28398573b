// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// The window of the tests is one hour from created.
const created = 1_800_000_000

// Test that the script does what the tables under testdata say. peers.txt explains them.
func TestRuns(t *testing.T) {
	t.Parallel()
	for table, names := range map[string][]string{"peers": {"static", "discovery"}, "registry": {"discovery"}, "restore": {"restore"}} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			stories := storiesIn(t, table+".txt")
			each(t, func(t *testing.T, sh shell) {
				var g *registry
				if table == "registry" {
					g = newRegistry(t, "v2", etcdtest.V35)
				}
				for i, story := range stories {
					for _, protocol := range protocols(story[0], g) {
						if i++; sh.due(i) {
							t.Run(story[0].Name+protocol, func(t *testing.T) { newScene(t, sh, g, protocol, story...).play() })
						}
					}
				}
			}, names...)
		})
	}
}

// protocols are those of the registry with which a story is played, " v2" and " v3".
func protocols(first row, g *registry) []string {
	if g == nil {
		return []string{""}
	}
	return slices.DeleteFunc([]string{" v2", " v3"}, func(p string) bool {
		return slices.Contains(first.words, map[string]string{" v2": "v3", " v3": "v2"}[p])
	})
}

// row is one run of the script.
type row struct {
	rules.Start
	known   bool // whether the row says who the peers are
	words   []string
	answers map[string]string
	checks  []string
}

func rowOf(line string) row {
	columns := append(strings.Split(line, "|"), "", "", "", "", "")
	r := row{Start: rules.Parse(strings.Join([]string{columns[0], columns[1], "", columns[3], columns[4]}, "|")), answers: map[string]string{}}
	is, _, known := strings.Cut(columns[1], "peers=")
	r.words, r.known = strings.Fields(is), known
	for answer := range strings.SplitSeq(columns[2], ";") {
		if name, text, ok := strings.Cut(strings.TrimSpace(answer), ": "); ok {
			r.answers[name] = text
		}
	}
	for check := range strings.SplitSeq(columns[5], ";") {
		if check = strings.TrimSpace(check); check != "" {
			r.checks = append(r.checks, check)
		}
	}
	return r
}

// storiesIn returns the stories of a table: a row, and those that continue it.
func storiesIn(t *testing.T, file string) (all [][]row) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		switch r := rowOf(line); {
		case line[0] == '#' || !strings.Contains(line, "|"):
		case line[0] == '>':
			last := all[len(all)-1]
			before := last[len(last)-1]
			r.Initial, r.Window = r.Initial || before.Initial, r.Window || before.Window
			if !r.known {
				r.Peers, r.known = before.Peers, before.known
			}
			all[len(all)-1] = append(last, r)
		default:
			all = append(all, []row{r})
		}
	}
	return all
}
