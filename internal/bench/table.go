// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench

import (
	"fmt"
	"strings"
)

// Bound is what a goal limits.
type Bound string

// The bounds. All of them look at medians.
const (
	// Ratio limits what was measured here by a multiple of the rival's.
	Ratio Bound = "×"
	// Excess limits by how much the rival's is exceeded, in the row's unit.
	Excess Bound = "+"
	// Below wants less than the rival's.
	Below Bound = "<"
	// Value limits what was measured here, whatever the rival's.
	Value Bound = "="
	// None is a row for information.
	None Bound = ""
)

// Goal is what a row is to reach.
type Goal struct {
	Bound Bound
	// Limit is a factor for a Ratio, else in the row's unit.
	Limit float64
}

// Row is one measure against one rival.
type Row struct {
	// Measure is the measure that the row belongs to, Case what exactly was
	// measured.
	Measure, Case string
	// Unit is that of both samples: s, ms, MB, or what was counted.
	Unit string
	Here Sample
	// Rival says what Against is; both are empty without a rival.
	Rival   string
	Against Sample
	Goal    Goal
}

// Met reports whether the goal is reached. A row without a goal reaches it.
func (r Row) Met() bool {
	here, there := r.Here.Median(), r.Against.Median()
	switch r.Goal.Bound {
	case Ratio:
		return here <= r.Goal.Limit*there
	case Excess:
		return here-there <= r.Goal.Limit
	case Below:
		return here < there
	case Value:
		return here <= r.Goal.Limit
	default:
		return true
	}
}

func (r Row) goal() string {
	switch r.Goal.Bound {
	case Ratio:
		return "≤ " + figure(r.Goal.Limit) + " ×"
	case Excess:
		return "≤ + " + figure(r.Goal.Limit) + " " + r.Unit
	case Below:
		return "below"
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
	switch {
	case r.Goal.Bound == None:
		return ""
	case r.Met():
		return "met"
	default:
		return "**missed**"
	}
}

const tableHead = "| measure | | n | provider | against | | ratio | goal | |"

// Table writes the rows as a table in Markdown: medians, and in parentheses
// the quartiles (of less than five values the least and the greatest).
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
