// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package text holds every sentence that a user may read as an error or a
// warning: what happened, the facts (names, hexadecimal IDs, figures), what to
// do next, and the original error. The exact texts are tested.
//
// One file for each subject: membership refusals, connections, discovery,
// resources. Nothing in it decides anything.
package text

// guides is where the guides are published; the name of one follows.
const guides = "https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/"

// Message is one diagnostic. Summary is one line without a full stop; Detail is
// whole sentences.
type Message struct {
	Summary string
	Detail  string
}

// newMessage makes a text of a summary and a detail. The detail is a format for
// [sprintf].
func newMessage(summary, format string, args ...any) Message {
	return Message{Summary: summary, Detail: sprintf(format, args...)}
}

// Error makes a Text usable as an error where one must pass through code that
// knows only errors.
func (t Message) Error() string { return t.Summary + ": " + t.Detail }
