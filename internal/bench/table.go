// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench

import (
	"fmt"
	"strings"
)

// Bound is the kind of limit of a goal.
type Bound string

// These are the bounds. All of them compare medians.
const (
	// Ratio limits the provider's value to a multiple of the rival's.
	Ratio Bound = "×"
	// Excess limits the provider's value minus the rival's, in the row's unit.
	Excess Bound = "+"
	// Below requires a value below the rival's.
	Below Bound = "<"
	// Value limits the provider's value, independently of the rival's.
	Value Bound = "="
	// None is for a row without a goal.
	None Bound = ""
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

// Met reports whether the goal is reached. It is true for a row without a goal.
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
