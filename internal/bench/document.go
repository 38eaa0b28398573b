// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench

import (
	"fmt"
	"regexp"
	"strings"
)

// Line is a row of a document, in the words of Table.
type Line struct {
	Measure, Case, Rounds, Here, Rival, Against, Ratio, Goal, Verdict string
}

// Lines parses the rows of all tables in a document that Table has written.
func Lines(document string) []Line {
	var lines []Line
	inside, measure := false, ""
	for text := range strings.Lines(document) {
		text = strings.TrimSpace(text)
		if text == tableHead {
			inside, measure = true, ""
			continue
		}
		cells := strings.Split(strings.Trim(text, "|"), "|")
		if !strings.HasPrefix(text, "|") || len(cells) != strings.Count(tableHead, "|")-1 {
			inside = false
		}
		if !inside || strings.HasPrefix(text, "|--") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] != "" {
			measure = cells[0]
		}
		lines = append(lines, Line{measure, cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8]})
	}
	return lines
}

// Find returns the row with this measure and case, and with a rival whose name
// contains the text.
func Find(lines []Line, measure, what, rival string) (Line, error) {
	for _, l := range lines {
		if l.Measure == measure && l.Case == what && strings.Contains(l.Rival, rival) {
			return l, nil
		}
	}
	return Line{}, fmt.Errorf("the tables have no row %q, %q against %q", measure, what, rival)
}

// These are the blocks that Renew computes from the tables.
const (
	summaryBlock = "summary"
	missedBlock  = "missed"
)

// Renew replaces one block of a document, such as a part of the campaign, and updates the
// blocks that follow from the tables of all parts: the summary and the missed goals.
func Renew(document, name, text string) (string, error) {
	document, err := replaceBlock(document, name, text)
	if err != nil {
		return "", err
	}
	lines := Lines(document)
	summary, err := summarise(lines)
	if err != nil {
		return "", err
	}
	if document, err = replaceBlock(document, summaryBlock, summary); err != nil {
		return "", err
	}
	return replaceBlock(document, missedBlock, missed(lines))
}

// replaceBlock replaces the text between the comments of a block.
func replaceBlock(document, name, text string) (string, error) {
	begin, end := "<!-- make bench: "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the document has no block %q", name)
	}
	return before + begin + text + end + after, nil
}

// LongestGap is a measure that the chart also shows.
const LongestGap = "longest gap between acknowledged writes"

// Replacement returns the measure of a rollout of n of three members.
func Replacement(n int) string { return fmt.Sprintf("replacement of %d of 3 members", n) }

// summarise writes the four numbers at the top of the document.
func summarise(lines []Line) (string, error) {
	var b strings.Builder
	b.WriteString("| | provider | without it |\n|---|--:|---|\n")
	for _, n := range []struct{ title, measure, what, rival, without string }{
		{"Longest time without an acknowledged write, while the leader is removed", LongestGap, "the leader is removed", "", "`etcdctl member remove`"},
		{"Acknowledged writes lost, while all three members are replaced", Replacement(3), "acknowledged writes lost", "", "by hand with etcdctl"},
		{"Time to replace all three members", Replacement(3), "total time", "", "by hand with etcdctl"},
		{"Time to refresh nine members", "refresh", "9 members", "terraform_data", "nine `terraform_data`"},
	} {
		l, err := Find(lines, n.measure, n.what, n.rival)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | **%s** | %s (%s) |\n", n.title, median(l.Here), median(l.Against), n.without)
	}
	return b.String(), nil
}

var quartiles = regexp.MustCompile(` \([^)]*\)`)

// median returns the figure without its quartiles.
func median(cell string) string { return quartiles.ReplaceAllString(cell, "") }

// missed writes a row for each missed goal.
func missed(lines []Line) string {
	var b strings.Builder
	b.WriteString("| measure | provider | goal | why |\n|---|--:|---|---|\n")
	rows := 0
	for _, l := range lines {
		if !strings.Contains(l.Verdict, "missed") {
			continue
		}
		rows++
		goal := l.Goal
		if strings.HasSuffix(goal, "×") || goal == "below" {
			goal += fmt.Sprintf(" %s (%s)", median(l.Against), l.Rival)
		}
		what := l.Measure
		if l.Case != "" {
			what += ", " + l.Case
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, median(l.Here), goal, reasonOf(l))
	}
	if rows == 0 {
		return "No goal is missed.\n"
	}
	return b.String()
}

// NoReason is the text for a missed goal without an explanation.
const NoReason = "not explained yet"

// reasons explain missed goals. The first entry whose measure and part of a
// case match applies.
var reasons = []struct{ measure, part, text string }{
	{Joining, "by snapshot", "After a snapshot, etcd often serves clients only after a timeout of 7 s. The provider waits for it."},
	{Joining, "", "The provider waits until the learner itself has answered twice: about 50 ms."},
	{Waiting, "", "Terraform cannot tell when the machine boots. The member has no vote in the meantime."},
	{"refresh", "", "`terraform_data` is built into the CLI. Other resources cost a process and calls to it."},
	{"replacement of", "", "Each join may meet the timeout of 7 s."},
}

// These are the measures whose goals have explanations.
const (
	Joining = "new member, from added to voting"
	Waiting = "member added, etcd not started"
)

func reasonOf(l Line) string {
	for _, r := range reasons {
		if strings.HasPrefix(l.Measure, r.measure) && strings.Contains(l.Case, r.part) {
			return r.text
		}
	}
	return NoReason
}
