// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRenderFillsInEachAssignmentOnce(t *testing.T) {
	for _, line := range []string{"own_name=''", "own_urls=''", "known_peers=''", "founder=0", "wait_seconds=45"} {
		if n := strings.Count(text, line+"\n"); n != 1 {
			t.Errorf("join.sh has the line %q %d times, want once", line, n)
		}
	}
	got := Render(Params{
		Name:     "infra1",
		PeerURLs: []string{"https://10.0.0.1:2380", "https://[fd00::1]:2380"},
		Peers:    []string{"https://10.0.0.2:2380", "https://10.0.0.3:2380"},
		Founder:  true,
		Wait:     1500 * time.Millisecond,
	})
	for _, line := range []string{
		"own_name='infra1'",
		"own_urls='https://10.0.0.1:2380,https://[fd00::1]:2380'",
		"known_peers='https://10.0.0.2:2380,https://10.0.0.3:2380'",
		"founder=1",
		"wait_seconds=2",
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("the script has no line %q", line)
		}
	}
	if Render(Params{}) != text {
		t.Errorf("without parameters the script is not join.sh as it stands")
	}
	if DefaultWait != 45*time.Second {
		t.Errorf("join.sh waits 45 seconds, DefaultWait is %s", DefaultWait)
	}
}

func TestRenderIsTheSameForTheSameParameters(t *testing.T) {
	p := Params{Name: "a", PeerURLs: []string{"http://a:2380"}, Peers: []string{"http://b:2380"}, Wait: time.Minute}
	if first := Render(p); first != Render(p) {
		t.Error("two renderings differ")
	}
}

// The script travels in user data: plain ASCII, small enough when it is
// compressed, and nothing that a YAML block or a template would stumble over.
func TestScriptIsPlainText(t *testing.T) {
	for i, line := range strings.Split(text, "\n") {
		for _, r := range line {
			if r > 126 || (r < 32 && r != '\t') {
				t.Errorf("line %d holds the character %U", i+1, r)
			}
		}
		if strings.TrimRight(line, " \t") != line {
			t.Errorf("line %d ends with white space", i+1)
		}
	}
	if len(text) > 24<<10 {
		t.Errorf("the script has %d bytes, want at most %d", len(text), 24<<10)
	}
}

var hostile = []string{
	`'; touch PWNED; '`,
	`"; touch PWNED; "`,
	"$(touch PWNED)",
	"`touch PWNED`",
	"a\ntouch PWNED\n",
	`\'; touch PWNED; #`,
	"x' \nfounder=1\nknown_peers='",
	"founder=0\n",
	"own_urls=''\n",
	"-n",
	"%s%n\\n",
	"a\x00b",
	"ü€\u2028",
	"http://127.0.0.1:1/$(touch${IFS}PWNED)",
	"http://127.0.0.1:1 -o PWNED",
	"-oPWNED",
	"@PWNED",
	"*",
}

// Whatever stands in the values, the shell reads them as values.
func TestRenderQuotesHostileValues(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		for i, h := range hostile {
			dir := t.TempDir()
			show := filepath.Join(dir, "show")
			// The assignments alone, then what they are.
			script := Render(Params{Name: h, PeerURLs: []string{h, h}, Peers: []string{h}})
			head, _, ok := strings.Cut(script, "\nsaid=\n")
			if !ok {
				t.Fatal("join.sh has no line that ends its assignments")
			}
			head += "\nprintf '%s|%s|%s|%s|%s' \"$own_name\" \"$own_urls\" \"$known_peers\" \"$founder\" \"$wait_seconds\"\n"
			if err := os.WriteFile(show, []byte(head), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), sh.argv[0], append(sh.argv[1:], show)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("case %d: %v\n%s", i, err, out)
			}
			v := strings.ReplaceAll(h, "\x00", "")
			if want := fmt.Sprintf("%s|%s,%s|%s|0|45", v, v, v, v); string(out) != want {
				t.Errorf("case %d: the shell reads\n%q\nwant\n%q", i, out, want)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "PWNED*")); len(files) > 0 {
				t.Errorf("case %d: the value was run: %q", i, h)
			}
		}
	})
}

// And what it does with them later runs nothing and prints nothing.
func TestScriptIsSafeWithHostileValues(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		for i, h := range hostile {
			dir := t.TempDir()
			for _, r := range []result{
				sh.run(t, Render(Params{Name: h, PeerURLs: []string{"http://127.0.0.1:2"}, Peers: []string{h}, Wait: time.Nanosecond}), "HOME="+dir),
				sh.run(t, Render(Params{Name: "a", PeerURLs: []string{h}, Peers: []string{h}}), "HOME="+dir),
			} {
				if r.code != ExitRetry || r.stdout != "" {
					t.Errorf("case %d: exit code %d, standard output %q; want %d and none\n%s", i, r.code, r.stdout, ExitRetry, r.stderr)
				}
			}
		}
	})
}

func TestShellcheck(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Logf("LEFT OUT: shellcheck of the join script: no shellcheck on PATH")
		return
	}
	for _, p := range []Params{{}, {Name: "it's", PeerURLs: []string{"https://[::1]:2380"}, Peers: hostile[:3], Founder: true}} {
		cmd := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "-")
		cmd.Stdin = strings.NewReader(Render(p))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
