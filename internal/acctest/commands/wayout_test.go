// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// commandLine matches a command on its own line, indented by two spaces,
// optionally with assignments to environment variables before it.
var commandLine = regexp.MustCompile(`(?m)^  ((?:[A-Z_]+=\S+ )*(?:terraform|tofu|etcdctl|etcdutl) .*)$`)

// commandsIn returns the commands of a diagnostic as printed.
func commandsIn(d acctest.Diagnostic) []string {
	var out []string
	for _, m := range commandLine.FindAllStringSubmatch(d.Detail, -1) {
		out = append(out, m[1])
	}
	return out
}

// placeholder matches any part of a command that would have to be replaced first.
var placeholder = regexp.MustCompile(`…|\.\.\.|<|>|\b(NAME|ID|OLD|NEW|TYPE|MEMBER|RESOURCE|URL)\b`)

// mustBeComplete fails the test unless the commands in the refusal of a plan
// can be run as printed except for ADDRESS, one of them solves the problem, and
// one destroys everything instead.
func mustBeComplete(d acctest.Diagnostic, tb testing.TB) {
	tb.Helper()
	commands := commandsIn(d)
	if !slices.Contains(commands, destroyInstead) {
		tb.Errorf("%s: no line is %q", d.Summary, "  "+destroyInstead)
	}
	if len(commands) < 2 {
		tb.Errorf("%s: no command leads on", d.Summary)
	}
	for _, c := range commands {
		if left := placeholder.FindString(c); left != "" {
			tb.Errorf("%q cannot be run as it is printed: %q", c, left)
		}
		if strings.Contains(c, "ADDRESS") && !strings.Contains(d.Detail, "ADDRESS is ") {
			tb.Errorf("%q: the text does not say what ADDRESS is", c)
		}
		shellWords(tb, fillIn(c, `module.x["y"].etcd_member.node["z"]`))
	}
	if strings.Contains(d.Detail, "-target") {
		tb.Errorf("%s: it advises -target", d.Summary)
	}
}

// fillIn replaces ADDRESS by an address.
func fillIn(command, address string) string { return strings.ReplaceAll(command, "ADDRESS", address) }

// shellWords parses a command line with a shell, and returns the program's
// arguments and the environment variables that are set for it.
func shellWords(tb testing.TB, line string) (args, env []string) {
	tb.Helper()
	dir := tb.TempDir()
	const stub = "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$STUB/args\"\nenv | grep -E '^(ETCD|TF_)' >\"$STUB/env\"\nexit 0\n"
	for _, program := range []string{"terraform", "tofu", "etcdctl", "etcdutl"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(stub), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(acctest.CleanEnvironment(), "STUB="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("a shell cannot run %s: %v\n%s", line, err, out)
	}
	read := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatalf("%s runs something else: %v", line, err)
		}
		return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	}
	return read("args"), read("env")
}

// saidAddress matches the text that says which resource of a member ADDRESS is.
var saidAddress = regexp.MustCompile(`ADDRESS is the (etcd_[a-z_]+) (?:of|named|for) (?:member )?"?([A-Za-z0-9_-]+)`)

// meant returns the address that a reader would use for ADDRESS, which must be that
// of such a resource: the one after "with", or the one that the text names.
func (l *lab) meant(d acctest.Diagnostic, resource string) string {
	l.t.Helper()
	meant := ""
	if m := saidAddress.FindStringSubmatch(d.Detail); m != nil {
		meant = l.addr(m[1], m[2])
	} else if regexp.MustCompile(`ADDRESS is the address (shown )?after "with"`).MatchString(d.Detail) {
		meant = d.Address
	} else {
		l.t.Fatalf("the text does not say which resource ADDRESS is:\n%s", d)
	}
	if !strings.Contains("."+meant, "."+resource+".") {
		l.t.Fatalf("ADDRESS is %q, want one of %s:\n%s", meant, resource, d)
	}
	return meant
}

// follow runs the first command of a diagnostic that contains prefix. ADDRESS
// must be that of such a resource.
func (l *lab) follow(d acctest.Diagnostic, prefix, resource string) *acctest.Outcome {
	l.t.Helper()
	for _, c := range commandsIn(d) {
		if !strings.Contains(c, prefix) {
			continue
		}
		if strings.Contains(c, "ADDRESS") {
			c = fillIn(c, l.meant(d, resource))
		}
		l.t.Logf("the way out: %s", c)
		return l.shell(c)
	}
	l.t.Fatalf("no command begins with %q:\n%s", prefix, d)
	return nil
}

// shell runs a command line without interactive questions.
func (l *lab) shell(line string) *acctest.Outcome {
	l.t.Helper()
	args, env := shellWords(l.t, line)
	was := l.Env
	l.Env = append(slices.Clone(was), env...)
	defer func() { l.Env = was }()
	l.Save()
	switch args[0] {
	case "apply", "destroy":
		return l.Workspace.Start(args...).Wait()
	case "import":
		return l.Run(slices.Insert(args, 1, "-input=false")...)
	default:
		return l.Run(args...)
	}
}
