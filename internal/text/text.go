// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package text contains every sentence that a user may read as an error or a
// warning: what happened, the facts (names, hexadecimal IDs, figures), what to
// do next, and the original error. The exact texts are tested.
//
// Each file covers one subject: membership refusals, connections, discovery,
// resources. The package makes no decisions.
package text

// guides is the URL of the published guides. The name of a guide follows.
const guides = "https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/"

// Message is one diagnostic. Summary is one line without a full stop. Detail is
// whole sentences.
type Message struct {
	Summary string
	Detail  string
}

// newMessage returns a Message. format is a format of [sprintf] for the detail.
func newMessage(summary, format string, args ...any) Message {
	return Message{Summary: summary, Detail: sprintf(format, args...)}
}

// New returns a message that stands next to its rule. It cleans the summary, and every
// text and error among the arguments, but for an [Own].
func New(summary, format string, args ...any) Message {
	return Message{Summary: Clean(summary), Detail: sprintf(format, args...)}
}

// Error implements error, for code that passes only errors.
func (t Message) Error() string { return t.Summary + ": " + t.Detail }
