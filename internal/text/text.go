// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package text contains every sentence that a user may read as an error or a
// warning: what happened, the facts (names, hexadecimal IDs, figures), what to
// do next, and the original error. The exact texts are tested.
//
// Each file covers one subject: membership refusals, connections, discovery,
// resources. The package makes no decisions.
package text

import (
	"slices"
	"strings"
)

// guides is the URL of the published guides. The name of a guide follows.
const guides = "https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/"

// Message is one diagnostic. Summary is one line without a full stop. Detail is
// whole sentences.
type Message struct {
	Summary string
	Detail  string
}

// New returns a message that stands next to its rule. It cleans the summary, and every
// text and error among the arguments, but for an [Own].
func New(summary, format string, args ...any) Message {
	return Message{Summary: Clean(summary), Detail: sprintf(format, args...)}
}

// of1 to of3 return the text of so many facts. Summary and detail are formats of
// [sprintf]. A format that leaves out a fact or changes the order has indexes.
func of1[A any](summary, detail string) func(A) Message {
	return func(a A) Message { return filled(summary, detail, a) }
}

func of2[A, B any](summary, detail string) func(A, B) Message {
	return func(a A, b B) Message { return filled(summary, detail, a, b) }
}

func of3[A, B, C any](summary, detail string) func(A, B, C) Message {
	return func(a A, b B, c C) Message { return filled(summary, detail, a, b, c) }
}

func filled(summary, detail string, facts ...any) Message {
	fill := func(format string) string {
		if !strings.Contains(format, "%") {
			return format
		}
		return sprintf(format, slices.Clone(facts)...)
	}
	return Message{Summary: fill(summary), Detail: fill(detail)}
}

// Error implements error, for code that passes only errors.
func (t Message) Error() string { return t.Summary + ": " + t.Detail }
