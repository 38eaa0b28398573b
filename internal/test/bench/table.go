// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package bench measures the provider against the alternatives, each measure
// together with its rivals in one run. `make bench` prints the table. The tests
// run a short form of it, which fails on broken behaviour and never because of
// timing.
package bench

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sample is a list of measured values, in the order of measurement.
type Sample []float64

// Quantile returns the value below which the fraction q (0 to 1) of the sample lies,
// interpolated linearly between neighbours. It returns NaN for an empty sample.
func (s Sample) Quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Median returns the median of the sample.
func (s Sample) Median() float64 { return s.Quantile(0.5) }

// text returns the median with the quartiles, or with the minimum and maximum
// of a sample that is too small for quartiles.
func (s Sample) text(unit string) string {
	if len(s) == 0 {
		return "–"
	}
	low, high := s.Quantile(0.25), s.Quantile(0.75)
	if len(s) < 5 {
		low, high = s.Quantile(0), s.Quantile(1)
	}
	out := figure(s.Median())
	if low != high {
		out += " (" + figure(low) + "–" + figure(high) + ")"
	}
	return out + " " + unit
}

// figure formats a number with three significant digits.
func figure(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	return strconv.FormatFloat(x, 'f', min(max(digits, 0), 3), 64)
}

// Bound is the kind of limit of a goal, "" for a row without one.
type Bound string

// These are the bounds. All of them compare medians.
const (
	// Ratio limits the provider's value to a multiple of the rival's.
	Ratio Bound = "×"
	// Value limits the provider's value, independently of the rival's.
	Value Bound = "="
)

// Goal is the goal of a row.
type Goal struct {
	Bound Bound
	// Limit is a factor for a Ratio, otherwise a value in the row's unit.
	Limit float64
}

// Row is one measure compared with one rival.
type Row struct {
	// Measure is the measure of the row, Case the exact case that was measured.
	Measure, Case string
	// Unit is the unit of both samples: s, ms, MB, or the counted things.
	Unit string
	Here Sample
	// Rival describes Against. Both are empty without a rival.
	Rival   string
	Against Sample
	Goal    Goal
}

func (r Row) goal() string {
	switch r.Goal.Bound {
	case Ratio:
		return "≤ " + figure(r.Goal.Limit) + " ×"
	case Value:
		return "≤ " + figure(r.Goal.Limit) + " " + r.Unit
	default:
		return ""
	}
}

func (r Row) ratio() string {
	if len(r.Here) == 0 || len(r.Against) == 0 || r.Against.Median() == 0 {
		return ""
	}
	return figure(r.Here.Median()/r.Against.Median()) + " ×"
}

func (r Row) verdict() string {
	here, limit := r.Here.Median(), r.Goal.Limit
	if r.Goal.Bound == Ratio {
		limit *= r.Against.Median()
	}
	switch {
	case r.Goal.Bound == "":
		return ""
	case here <= limit:
		return "met"
	default: // also without values
		return "**missed**"
	}
}

const tableHead = "| measure | | n | provider | against | | ratio | goal | |"

// Table formats the rows as a Markdown table: medians, and in parentheses the
// quartiles (for fewer than five values the minimum and the maximum).
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString(tableHead + "\n|---|---|--:|--:|---|--:|--:|---|---|\n")
	last := ""
	for _, r := range rows {
		measure := r.Measure
		if measure == last {
			measure = ""
		}
		last = r.Measure
		against := ""
		if len(r.Against) > 0 {
			against = r.Against.text(r.Unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s | %s | %s |\n",
			measure, r.Case, len(r.Here), r.Here.text(r.Unit), r.Rival, against, r.ratio(), r.goal(), r.verdict())
	}
	return b.String()
}

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
