// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a text and the situation in which it is shown.
type named struct {
	name string
	text Message
}

// mustBeTexts compares texts with a file under testdata, where they can be read like a
// user sees them.
func mustBeTexts(t *testing.T, file string, texts []named) {
	t.Helper()
	var b strings.Builder
	for _, c := range texts {
		mustFollowPattern(t, c.text)
		mustBeShort(t, c.text)
		b.WriteString(strings.TrimSpace("== "+c.name) + "\n" + c.text.Summary + "\n\n" + c.text.Detail + "\n\n")
	}
	mustBeGolden(t, file, b.String())
}

// mustBeMessages is [mustBeTexts] of texts that need no name.
func mustBeMessages(t *testing.T, file string, texts []Message) {
	t.Helper()
	var all []named
	for _, text := range texts {
		all = append(all, named{text: text})
	}
	mustBeTexts(t, file, all)
}

// arguments match texts that may begin with a small letter.
var arguments = regexp.MustCompile(`^(size|desired)\b`)

// mustFollowPattern fails the test unless the summary is one line without a
// full stop and the detail is whole sentences without unfilled placeholders.
func mustFollowPattern(t *testing.T, text Message) {
	t.Helper()
	if s := text.Summary; s == "" || strings.HasSuffix(s, ".") || strings.ContainsAny(s, "\n") || s[:1] != strings.ToUpper(s[:1]) && !arguments.MatchString(s) {
		t.Errorf("a summary is one line, without a full stop, and begins with a capital or an argument: %q", s)
	}
	paragraphs := strings.Split(text.Detail, "\n\n")
	if first := paragraphs[0]; !strings.HasSuffix(first, ".") && !strings.HasSuffix(first, ":") {
		t.Errorf("%q: the detail is not whole sentences: %q", text.Summary, first)
	}
	if field := inBraces.FindString(text.Summary + text.Detail); field != "" {
		t.Errorf("%q: nothing stands for %s", text.Summary, field)
	}
	line, _, _ := strings.Cut(paragraphs[0], "\n")         // before a list
	listed := strings.ReplaceAll(line, "and . _", "and _") // characters of names
	for _, odd := range []string{"%!", "  ", "..", " .", "()", "<nil>"} {
		if strings.Contains(text.Summary+listed, odd) {
			t.Errorf("%q has %q in it: %q", text.Summary, odd, paragraphs[0])
		}
	}
}

// mustBeShort fails the test if a summary has more than eight words.
func mustBeShort(t *testing.T, text Message) {
	t.Helper()
	if n := len(strings.Fields(text.Summary)); n > 8 {
		t.Errorf("a summary has at most eight words, this one %d: %q", n, text.Summary)
	}
}

// mustBeGolden compares texts with a file under testdata. UPDATE=1 rewrites the
// file.
func mustBeGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the texts differ from %s. If they should, run with UPDATE=1 and read the difference.\n%s", file, got)
	}
}
