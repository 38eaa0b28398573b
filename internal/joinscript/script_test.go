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

// The exit codes of the script besides 0 ("start etcd").
const (
	// exitRetry says that etcd must not start yet and that the script should
	// be run again (sysexits: EX_TEMPFAIL).
	exitRetry = 75
	// exitNever says that this member must never start: it was removed, or this
	// identity has run before and its data is gone. A member that comes back with
	// an empty log can vote acknowledged writes away. (sysexits: EX_CONFIG; for
	// systemd's RestartPreventExitStatus.)
	exitNever = 78
)

// The script travels in user data: plain ASCII, small when it is compressed, and
// nothing that a YAML block or a template would stumble over.
func TestScriptIsPlainTextAndSmall(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(Script, "\n") {
		for _, r := range line {
			if r > 126 || r < 32 {
				t.Errorf("line %d holds the character %U", i+1, r)
			}
		}
		if strings.TrimSpace(line) != line {
			t.Errorf("line %d begins or ends with white space", i+1)
		}
		if i > 0 && strings.HasPrefix(line, "#") {
			t.Errorf("line %d is a comment: %s", i+1, line)
		}
	}
	compressed, err := base64.StdEncoding.DecodeString(Base64Gzip)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d compressed, %d in base64", len(Script), len(compressed), len(Base64Gzip))
	if len(compressed) > 7000 {
		t.Errorf("compressed the script has %d bytes, want at most 7000", len(compressed))
	}
}

// What the state has is one line that every base64 and gunzip reads back, and
// the same each time: a time stamp in it would change user data with each build.
func TestEncodedScript(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "base64 -d | gunzip")
	cmd.Stdin = strings.NewReader(Base64Gzip)
	if out, err := cmd.Output(); err != nil || string(out) != Script {
		t.Errorf("base64 -d | gunzip gives %d bytes, %v; want the script's %d", len(out), err, len(Script))
	}
	if strings.ContainsAny(Base64Gzip, "\n\r ") || Encode(Script) != Base64Gzip {
		t.Error("the encoded script is not one line that is always the same")
	}
	header, err := base64.StdEncoding.DecodeString(Base64Gzip)
	if err != nil || !bytes.Equal(header[4:8], make([]byte, 4)) {
		t.Errorf("the gzip has a time stamp: %x, %v", header[:10], err)
	}
}

// The values that come from the environment are values, whatever they hold:
// nothing is run, nothing is printed, and no other line gets to etcd.
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
	eachShell(t, func(t *testing.T, sh shell) {
		for i, h := range hostile {
			for k, variables := range [][]string{
				{"ETCD_NAME=" + h, "ETCD_JOIN_PEERS=" + h},
				{"ETCD_INITIAL_ADVERTISE_PEER_URLS=" + h, "ETCD_JOIN_PEERS=" + h},
				{"ETCD_INITIAL_CLUSTER_STATE=new", "ETCD_INITIAL_CLUSTER=" + h, "ETCD_INITIAL_CLUSTER_TOKEN=" + h},
				{"ETCD_INITIAL_CLUSTER_STATE=new", "ETCD_INITIAL_CLUSTER=us=" + own, WindowVariable + "=" + h},
				{"ETCD_INITIAL_CLUSTER_STATE=new", "ETCD_DISCOVERY_TOKEN=" + h, "ETCD_DISCOVERY_ENDPOINTS=" + dead},
				{"ETCD_INITIAL_CLUSTER_STATE=new", "ETCD_DISCOVERY=" + h},
			} {
				if !sh.due(i + k) {
					continue
				}
				r := ask(t, sh, false, nil, append(variables, hurry)...)
				if (r.code != exitRetry && r.code != exitNever) || r.stdout != "" {
					t.Errorf("case %d, %q: exit code %d, standard output %q\n%s", i, variables, r.code, r.stdout, r.stderr)
				}
			}
		}
	})
}

func TestShellcheck(t *testing.T) {
	t.Parallel()
	path := etcdtest.Need(t, "shellcheck")
	cmd := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "join.sh")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
