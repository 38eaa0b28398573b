// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// named is a text and the situation in which it is shown.
type named struct {
	name string
	text Message
}

// unnamed are texts that need no name.
func unnamed(texts ...Message) (all []named) {
	for _, text := range texts {
		all = append(all, named{text: text})
	}
	return all
}

// mustBeTexts compares texts with a file under testdata, where they can be read like a
// user sees them.
func mustBeTexts(t *testing.T, file string, texts []named) {
	t.Helper()
	var b strings.Builder
	for _, c := range texts {
		mustFollowPattern(t, c.text)
		if n := len(strings.Fields(c.text.Summary)); n > 8 {
			t.Errorf("a summary has at most eight words, this one %d: %q", n, c.text.Summary)
		}
		b.WriteString(strings.TrimSpace("== "+c.name) + "\n" + c.text.Summary + "\n\n" + c.text.Detail + "\n\n")
	}
	must.BeGolden(t, "testdata/"+file, b.String())
}

var (
	// summaries are one line that begins with a capital or an argument.
	summaries = regexp.MustCompile(`^([A-Z]|size\b|desired\b)\S*( \S+)*$`)
	// unfilled is what no text holds, apart from the characters of names.
	unfilled = regexp.MustCompile(`%!|  |\.\.| \.|\(\)|<nil>|secret|` + inBraces.String())
)

// mustFollowPattern fails the test unless the detail of a text is whole sentences, in which
// nothing is left to fill.
func mustFollowPattern(t *testing.T, text Message) {
	t.Helper()
	first, _, _ := strings.Cut(text.Detail, "\n\n")
	line, _, _ := strings.Cut(first, "\n") // before a list
	odd := unfilled.FindString(strings.ReplaceAll(text.Summary+" · "+line, "and . _", "and _"))
	if !summaries.MatchString(text.Summary) || strings.HasSuffix(text.Summary, ".") || !strings.HasSuffix(first, ".") && !strings.HasSuffix(first, ":") || odd != "" {
		t.Errorf("not a summary and whole sentences, or it has %q in it: %q: %q", odd, text.Summary, first)
	}
}
