// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package bench measures the provider against what people do without it, each
// measure side by side with its rivals in one run. `make bench` prints the
// table; the tests run a short form of it, which fails on broken behaviour and
// never on time.
package bench

import (
	"math"
	"slices"
	"strconv"
)

// Sample is what was measured, in the order of measuring.
type Sample []float64

// Quantile returns the value below which the part q of the sample lies (0 to
// 1), interpolated linearly between neighbours; NaN for an empty sample.
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

// Median returns the middle of the sample.
func (s Sample) Median() float64 { return s.Quantile(0.5) }

// text is the median with the quartiles, or with the two ends of a sample
// that is too small to have quartiles.
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

// figure writes a number with three significant digits.
func figure(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	return strconv.FormatFloat(x, 'f', min(max(digits, 0), 3), 64)
}
