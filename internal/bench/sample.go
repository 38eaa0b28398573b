// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package bench measures the provider against the alternatives, each measure
// together with its rivals in one run. `make bench` prints the table. The tests
// run a short form of it, which fails on broken behaviour and never because of
// timing.
package bench

import (
	"math"
	"slices"
	"strconv"
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
