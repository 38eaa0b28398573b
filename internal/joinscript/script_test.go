// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"encoding/base64"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// The exit codes of the script other than 0 ("start etcd").
const (
	// exitRetry means that etcd must not start yet and that the script should
	// run again (sysexits: EX_TEMPFAIL).
	exitRetry = 75
	// exitNever means that etcd can never start with this environment (sysexits:
	// EX_CONFIG; for systemd's RestartPreventExitStatus).
	exitNever = 78
)

// variants are the scripts for machines.
var variants = map[string]Variant{"discovery": Discovery(), "static": Static(), "restore": Restore()}

// Test that the script is suitable for user data: plain ASCII, harmless in a YAML block or
// a template, and encoded as one line that every base64 and gunzip can decode, without a
// time stamp, which would change user data with each build.
func TestScriptIsPlainText(t *testing.T) {
	t.Parallel()
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			for i, line := range strings.Split(v.Text, "\n") {
				odd := strings.ContainsFunc(line, func(r rune) bool { return r > 126 || r < 32 })
				if odd || strings.TrimSpace(line) != line || i > 0 && strings.HasPrefix(line, "#") {
					t.Errorf("line %d is a comment, or holds more than plain text: %q", i+1, line)
				}
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "base64 -d | gunzip")
			cmd.Stdin = strings.NewReader(v.Base64Gzip)
			if out, err := cmd.Output(); err != nil || string(out) != v.Text {
				t.Errorf("base64 -d | gunzip gives %d bytes, %v; want the script's %d", len(out), err, len(v.Text))
			}
			header, err := base64.StdEncoding.DecodeString(v.Base64Gzip)
			if err != nil || !bytes.Equal(header[4:8], make([]byte, 4)) || strings.ContainsAny(v.Base64Gzip, "\n\r ") || Encode(v.Text) != v.Base64Gzip {
				t.Errorf("the encoded script is not one line that is always the same: %x, %v", header[:10], err)
			}
		})
	}
}

// Test that a script omits what its configuration does not need.
func TestStaticScriptHasNoRegistry(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"ask_v3", "kv/range", "/_config/size", "unbase64", "ETCD_JOIN_DISCOVERY", "=$why "} {
		if strings.Contains(Static().Text, word) || !strings.Contains(Discovery().Text, word) {
			t.Errorf("%q is in the script of a static bootstrap, or not in that of a discovery", word)
		}
	}
	// The script never starts etcd with an environment for another variant.
	sh := nth(t, 0)
	sh.script = Static()
	for _, row := range []string{
		"|initial ETCD_DISCOVERY=$dead/T| | never | this join script is for a static bootstrap", "|initial ETCD_DISCOVERY_TOKEN=T| | never | this join script is for a static bootstrap",
		"|ETCD_JOIN_DISCOVERY=$dead/T peers=| | wait | ETCD_JOIN_PEERS is not set",
	} {
		newScene(t, sh, nil, "", rowOf(row)).play()
	}
}

// Test that values from the environment are only data: they are never run or
// printed, and add no line to the environment of etcd.
func TestScriptIsSafeWithHostileValues(t *testing.T) {
	t.Parallel()
	var hostile []string
	for line := range strings.Lines(must.Read(t, filepath.Join("testdata", "hostile.txt"))) {
		value, err := strconv.Unquote(strings.TrimSpace(line))
		must.Succeed(t, err)
		hostile = append(hostile, value)
	}
	each(t, func(t *testing.T, sh shell) {
		// As many as one start reads, before it refuses one.
		static := func(h string) []string {
			return []string{
				"ETCD_JOIN_PEERS=" + dead + "," + h, "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + own + "," + h,
				"ETCD_INITIAL_CLUSTER=us=" + own + "," + h, "ETCD_INITIAL_CLUSTER_TOKEN=" + h, WindowVariable + "=" + h,
			}
		}
		starts := []func(h string) []string{
			func(h string) []string { return []string{"ETCD_NAME=" + h} },
			static,
			func(h string) []string { return []string{"ETCD_INITIAL_ADVERTISE_PEER_URLS=" + h} },
		}
		if sh.script.Text == Discovery().Text {
			starts = append(starts,
				func(h string) []string { return []string{"ETCD_DISCOVERY=" + h} },
				func(h string) []string {
					return append(static(h), "ETCD_DISCOVERY_TOKEN="+h, "ETCD_DISCOVERY_ENDPOINTS="+dead+","+h)
				})
		}
		for i, h := range hostile {
			for k, start := range starts {
				if k < 3 && !sh.due(i+k) {
					continue // the other variant has it
				}
				variables := append([]string{"ETCD_NAME=us", "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + own}, start(h)...)
				r := sh.run(t, variables...)
				if (r.code != exitRetry && r.code != exitNever) || r.stdout != "" {
					t.Errorf("case %d, %q: exit code %d, standard output %q\n%s", i, variables, r.code, r.stdout, r.stderr)
				}
			}
		}
	}, "discovery", "static")
}

func TestShellcheck(t *testing.T) {
	t.Parallel()
	path := etcdtest.Need(t, "shellcheck")
	for name, script := range map[string]string{"discovery": assemble("discovery.sh", "empty.sh"), "static": assemble("static.sh", "empty.sh"), "restore": assemble("static.sh", "restore.sh")} {
		cmd := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "-")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// The window of the tests is one hour from created.
const created = 1_800_000_000

// Test that the script does what the tables under testdata say. peers.txt explains them.
func TestRuns(t *testing.T) {
	t.Parallel()
	for table, names := range map[string][]string{"peers": {"static", "discovery"}, "registry": {"discovery"}, "restore": {"restore"}, "store": {"static"}} {
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
	for line := range strings.Lines(must.Read(t, filepath.Join("testdata", file))) {
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
