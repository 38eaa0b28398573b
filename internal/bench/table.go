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

// Met reports whether the goal is reached. It is true for a row without a goal.
func (r Row) Met() bool {
	switch here := r.Here.Median(); r.Goal.Bound {
	case Ratio:
		return here <= r.Goal.Limit*r.Against.Median()
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
	case r.Goal.Bound == "":
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
