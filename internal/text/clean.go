// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Names, URLs, errors of servers, holders of locks, values of records and user
// input are data. They enter a text only through [sprintf] and [Clean], so they
// cannot move the cursor, begin a line, or act as a command to the program that
// reads the log. In addition, the provider server passes every summary through
// [Clean] and every detail through [Lines], whatever the source.

// Limits of what is shown of a text from outside, in characters.
const (
	longestWord  = 200
	longestError = 1000
)

// tokens matches discovery tokens that a service or this provider makes. An
// incomplete token is a capability, so only its beginning is shown.
var tokens = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{24}\b`)

// word matches a part of a text that cannot be wrapped.
var word = regexp.MustCompile(`[^\s,;]+`)

// Clean returns a text from outside in displayable form: one line of printable
// characters. Other characters become \xNN, \uNNNN or \UNNNNNNNN, line breaks
// and tabs become spaces. A discovery token is cut after 8 characters. A word of more
// than 200 characters and secrets are not shown, see [membership.Redacted].
func Clean(s string) string { return strings.TrimSpace(clean(membership.Redacted(s))) }

func clean(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"): // not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && !isCommand(s, i):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return brief(b.String())
}

// brief hides long words and secrets.
func brief(s string) string {
	return word.ReplaceAllStringFunc(membership.Redacted(s), func(w string) string {
		if utf8.RuneCountInString(w) > longestWord {
			return membership.Hidden(w)
		}
		return tokens.ReplaceAllString(w, "$1…")
	})
}

// isCommand reports whether a command to a program that runs Terraform in a
// pipeline may begin at i: "::name" at the beginning of a line, or "##" (as in
// "##[name]" and "##vso[name]") anywhere. Long lines are wrapped, so every word
// may begin a line.
func isCommand(s string, i int) bool {
	if strings.HasPrefix(s[i:], "##") {
		return true
	}
	name := strings.TrimPrefix(s[i:], "::")
	return len(name) < len(s[i:]) && (i == 0 || strings.ContainsAny(s[i-1:i], " \t\r\n")) && name != "" && unicode.IsLetter(rune(name[0]))
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// Lines returns a finished text in displayable form. It keeps line breaks,
// which are our own, and leading spaces; otherwise see [Clean].
func Lines(s string) string {
	return strings.Join(each(strings.Split(membership.Redacted(s), "\n"), clean), "\n")
}

// sentence returns the text of an error in displayable form, without its full stop.
func sentence(err error) string {
	return strings.TrimSuffix(cut(Clean(err.Error()), longestError), ".")
}

// Verbatim is a text of the provider, such as a command. [sprintf] keeps its line breaks.
type Verbatim string

// sprintf is like fmt.Sprintf, but cleans every text and error among its arguments. A list
// of texts has commas in it.
func sprintf(format string, args ...any) string {
	for i, arg := range args {
		args[i] = argument(arg)
	}
	return fmt.Sprintf(format, args...)
}

func argument(arg any) any {
	switch a := arg.(type) {
	case Verbatim:
		return string(a)
	case error:
		return outside(sentence(a))
	case []string:
		return strings.Join(each(a, func(s string) string { return fmt.Sprint(outside(s)) }), ", ")
	case fmt.Stringer:
		return outside(a.String())
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
		return outside(v.String())
	}
	return arg
}

// outside is a text from outside. All formatting cleans it.
type outside string

// Format implements [fmt.Formatter].
func (o outside) Format(f fmt.State, verb rune) {
	format := fmt.FormatString(f, verb)
	if most, given := f.Precision(); given { // only the beginning may be shown
		format, o = "%"+string(verb), outside(cut(string(o), most))
	}
	value, ok := membership.Shown(string(o))
	switch {
	case verb == 'q' && ok: // %q has its own escapes for unprintable characters
		_, _ = io.WriteString(f, clean(fmt.Sprintf(format, brief(value))))
	case verb == 'q' || strings.ContainsAny(string(o), "\n\r"):
		_, _ = io.WriteString(f, membership.Hidden(string(o)))
	default:
		_, _ = fmt.Fprintf(f, format, clean(string(o)))
	}
}
