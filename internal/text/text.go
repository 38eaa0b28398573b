// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package text contains every sentence that a user may read as an error or a
// warning: what happened, the facts (names, hexadecimal IDs, figures), what to
// do next, and the original error. The exact texts are tested.
//
// Each file covers one subject: membership refusals, connections, discovery,
// resources. The package makes no decisions.
package text

import "strings"

// guides is the URL of the published guides. The name of a guide follows.
const guides = "https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/"

// Message is one diagnostic. Summary is one line without a full stop. Detail is
// whole sentences.
type Message struct {
	Summary string
	Detail  string
}

// New returns a message that stands next to its rule. It cleans the summary, and every
// text and error among the arguments, but for an [Verbatim].
func New(summary, format string, args ...any) Message {
	return Message{Summary: Clean(summary), Detail: sprintf(format, args...)}
}

// filled is [sprintf], for a format that may leave out all facts.
func filled(format string, facts ...any) string {
	if !strings.Contains(format, "%") {
		return format
	}
	return sprintf(format, facts...)
}

// Error implements error, for code that passes only errors.
func (t Message) Error() string { return t.Summary + ": " + t.Detail }
