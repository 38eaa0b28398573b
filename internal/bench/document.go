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

// Find returns the first row with this measure and case.
func Find(lines []Line, measure, what string) (Line, error) {
	for _, l := range lines {
		if l.Measure == measure && l.Case == what {
			return l, nil
		}
	}
	return Line{}, fmt.Errorf("the tables have no row %q, %q", measure, what)
}

// Renew replaces one block of a document, such as a part of the campaign, and updates the
// summary, which follows from the tables of all parts.
func Renew(document, name, text string) (string, error) {
	document, err := replaceBlock(document, name, text)
	if err != nil {
		return "", err
	}
	summary, err := summarise(Lines(document))
	if err != nil {
		return "", err
	}
	return replaceBlock(document, "summary", summary)
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

// These are measures that the summary or the chart also shows.
const (
	LongestGap = "longest gap between acknowledged writes"
	Refresh    = "refresh"
)

// Members returns the case of the refresh of n nodes.
func Members(n int) string { return fmt.Sprintf("etcd_cluster with %d nodes and their members", n) }

// Replacement returns the measure of a rollout of n of three members.
func Replacement(n int) string { return fmt.Sprintf("replacement of %d of 3 members", n) }

// summarise writes the four numbers at the top of the document.
func summarise(lines []Line) (string, error) {
	var b strings.Builder
	b.WriteString("| | provider | without it |\n|---|--:|---|\n")
	for _, n := range []struct{ title, measure, what, without string }{
		{"Longest time without an acknowledged write, while the leader is removed", LongestGap, "the leader is removed", "`etcdctl member remove`"},
		{"Acknowledged writes lost, while all three members are replaced", Replacement(3), "acknowledged writes lost", "by hand with etcdctl"},
		{"Time to replace all three members", Replacement(3), "total time", "by hand with etcdctl"},
		{"Time to refresh nine nodes and their members", Refresh, Members(9), "nine `terraform_data`"},
	} {
		l, err := Find(lines, n.measure, n.what)
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
