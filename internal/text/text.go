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
	"regexp"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
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

// words are one wording of a code: what was found, and what to do next. Names in braces
// stand for facts, see [finding.facts]. {one|many} depends on how many others there are.
type words struct {
	when                 func(finding) bool // nil for always
	summary, cause, next string
}

// wordings are the wordings of each code. The first applies whose condition holds.
type wordings map[membership.Code][]words

// finding is a code with its facts and their context.
type finding struct {
	membership.Decision
	action reconfigure.Action
	name   string // the operator's name of the member
	s      membership.Snapshot

	held  bool           // a change was refused during an apply
	again string         // ends the sentence that says what to do next
	more  map[string]any // further facts
}

// nothingChanged stands between what was found and what to do next if an apply was
// refused. A plan changes nothing, and does not say so.
const nothingChanged = " Nothing was changed."

// outcome says what has become of the member that a refused change is about.
func (c finding) outcome() string {
	added := c.action == reconfigure.ActionAdd || c.action == reconfigure.ActionPromote
	switch m := c.member(); {
	case !c.held:
		return ""
	case !added || m.ID == 0:
		return nothingChanged
	case m.Learner:
		return " " + capital(short(c.s, m.ID)) + " stays a learner."
	default:
		return " " + capital(short(c.s, m.ID)) + " is a voting member already, and counts for the quorum."
	}
}

// text returns the text of the finding in the first of the tables that has one.
func (c finding) text(tables ...wordings) Message {
	for _, table := range tables {
		for _, w := range table[c.Code] {
			if w.when == nil || w.when(c) {
				return c.message(w)
			}
		}
	}
	return c.message(words{summary: "{doing}", cause: "Look at the cluster: {code}."})
}

func (c finding) message(w words) Message {
	detail, next := strings.TrimSpace(c.fill(w.cause))+c.outcome(), c.fill(w.next)
	if next != "" && !strings.HasPrefix(next, "\n") {
		detail += " "
	}
	return Message{Summary: c.fill(w.summary), Detail: detail + next}
}

var inBraces = regexp.MustCompile(`\{[a-zA-Z]+\}|\{[^{}|]*\|[^{}|]*\}`)

// fill puts the facts into a template. It cleans every text among them, but for an [Verbatim].
func (c finding) fill(template string) string {
	return inBraces.ReplaceAllStringFunc(template, func(field string) string {
		field = field[1 : len(field)-1]
		if one, many, ok := strings.Cut(field, "|"); ok {
			return plural(max(len(c.Facts.Others), len(c.Facts.Names)), one, many)
		}
		if fact, ok := c.more[field]; ok {
			return sprintf("%v", fact)
		}
		if fact, ok := facts[field]; ok {
			return sprintf("%v", fact(c))
		}
		return "{" + field + "}"
	})
}

// facts are what the names in braces stand for.
var facts = map[string]func(finding) any{
	"code":    func(c finding) any { return c.Code },
	"name":    func(c finding) any { return c.name },
	"who":     func(c finding) any { return c.who() },
	"id":      func(c finding) any { return c.Facts.Subject },
	"cluster": func(c finding) any { return c.s.ClusterID },
	"detail":  func(c finding) any { return c.Facts.Detail },
	"again":   func(c finding) any { return c.again },
	"doing":   func(c finding) any { return c.doing() },

	"subject": func(c finding) any { return Member(c.s, c.Facts.Subject) },
	"Subject": func(c finding) any { return capital(Member(c.s, c.Facts.Subject)) },
	"urls":    func(c finding) any { return c.member().PeerURLs },
	"bears":   func(c finding) any { return c.member().Name },
	"answer":  func(c finding) any { return MemberAnswer(c.s, c.Facts.Subject) },
	"view":    func(c finding) any { return capital(view(c.s, c.Facts.Subject)) },
	"vote":    func(c finding) any { return vote(c.s, c.Facts.Subject) },

	"others":    func(c finding) any { return members(c.s, c.Facts.Others) },
	"Others":    func(c finding) any { return capital(members(c.s, c.Facts.Others)) },
	"shorts":    func(c finding) any { return shorts(c.s, c.Facts.Others) },
	"answers":   func(c finding) any { return memberAnswers(c.s, c.Facts.Others) },
	"unhealthy": func(c finding) any { return memberAnswers(c.s, unhealthy(c.s, c.Facts.Others)) },
	"names":     func(c finding) any { return listed(each(c.Facts.Names, clean)) },

	"voters": func(c finding) any { return c.Facts.Voters },
	"quorum": func(c finding) any { return c.Facts.Quorum },
	"alive":  func(c finding) any { return c.Facts.Alive },
	"spare":  func(c finding) any { return c.Facts.Voters - c.Facts.Quorum },
	"fewer":  func(c finding) any { return c.Facts.Voters - 1 },
	"lag":    func(c finding) any { lag, _, _ := c.s.Lag(c.Facts.Subject); return lag },
	"most":   func(c finding) any { _, most, _ := c.s.Lag(c.Facts.Subject); return most },
	"term":   func(c finding) any { _, term, _ := c.s.MajorityLeader(); return term },

	"responding": func(c finding) any { return c.responding() },
	"back":       func(c finding) any { return c.back() },
	"why":        func(c finding) any { return c.why() },
	"remedy":     func(c finding) any { return c.remedy() },
	"removal":    func(c finding) any { return Verbatim(removal(c.s, c.Facts.Others)) },
	"prove":      func(c finding) any { return remedyFor(c.s, c.Facts.Others) },
	"views":      func(c finding) any { return views(c.s) },
	"mixed":      func(c finding) any { return mixed(c.s, c.Facts.Others) },
	"problem": func(c finding) any {
		return urlDetail(&membership.URLError{URL: c.Facts.Detail, Problem: c.Facts.Problem})
	},
	"turns":  func(c finding) any { return turns(c.Facts.Turns) },
	"finish": func(c finding) any { return Verbatim(turnsRemedy(c.Facts.Turns)) },
	"raised": func(c finding) any { return raisedAlarm(c.Facts, c.s) },
	"disarm": func(c finding) any { return Verbatim(c.disarm()) },
	"way":    func(c finding) any { return c.accessRemedy() },
}
