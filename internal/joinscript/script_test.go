// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
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
	for _, word := range []string{"ask_registry", "kv/range", "/_config/size", "unbase64", "ETCD_JOIN_DISCOVERY", "$why\n"} {
		if strings.Contains(Static().Text, word) || !strings.Contains(Discovery().Text, word) {
			t.Errorf("%q is in the script of a static bootstrap, or not in that of a discovery", word)
		}
	}
	for mark, n := range map[string]int{"# --- registry": 0, "# --- else": -1, "# --- end": 0} {
		if got := strings.Count(source, mark+"\n"); n == 0 && got < 2 || n < 0 && got != 1 {
			t.Errorf("%q is in the script %d times", mark, got)
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
	hostile := []string{
		`'; touch PWNED; '`,
		`"; touch PWNED; "`,
		"$(touch PWNED)",
		"`touch PWNED`",
		"a\ntouch PWNED\n",
		"a\nETCD_FORCE_NEW_CLUSTER=true",
		`\'; touch PWNED; #`,
		"x' \nfounder=1\npeers='",
		"-n",
		"%s%n\\n",
		"ü€\u2028",
		"http://127.0.0.1:1/$(touch${IFS}PWNED)",
		"http://127.0.0.1:1 -o PWNED",
		"-oPWNED",
		"@PWNED",
		"*",
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
	// make lint checks join.sh itself.
	for name, script := range map[string]string{"discovery": part(source, registryPart), "static": part(source), "restore": part(source, restorePart)} {
		cmd := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "-")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
