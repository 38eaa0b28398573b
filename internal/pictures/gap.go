// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

// bars are two compared figures, in milliseconds.
type bars struct {
	title, by         string
	provider, without float64
}

// gaps reads the figures of the chart from the tables of a document.
func gaps(document string) ([]bars, error) {
	lines := bench.Lines(document)
	var all []bars
	for _, g := range []struct{ title, measure, what, by string }{
		{"The leader is removed", bench.LongestGap, "the leader is removed", "etcdctl member remove"},
		{"The leader is replaced", bench.LongestGap, "the leader is replaced", "etcdctl member remove, add, promote"},
		{"All three members are replaced", bench.Replacement(3), bench.LongestGap, "etcdctl, by hand"},
	} {
		l, err := bench.Find(lines, g.measure, g.what)
		if err != nil {
			return nil, err
		}
		b := bars{title: g.title, by: g.by}
		if b.provider, err = milliseconds(l.Here); err == nil {
			b.without, err = milliseconds(l.Against)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// milliseconds parses the median of a figure in ms.
func milliseconds(figure string) (float64, error) {
	number, _, _ := strings.Cut(figure, " ")
	if !strings.HasSuffix(figure, " ms") {
		return 0, fmt.Errorf("%q is not in ms", figure)
	}
	return strconv.ParseFloat(number, 64)
}

// gapAlt returns the alternative text of the chart.
func gapAlt(all []bars) string {
	var b strings.Builder
	b.WriteString("Longest time without an acknowledged write, with the provider and without it.")
	for _, g := range all {
		fmt.Fprintf(&b, " %s: %s with the provider, %s with %s.", g.title, inWords(g.provider), inWords(g.without), g.by)
	}
	return b.String()
}

// inWords formats a figure for the label of a bar.
func inWords(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 64) + " ms" }

// chart draws the figures as bars on a logarithmic scale from 1 ms to 10 s.
func chart(description string, all []bars) string {
	const (
		zero, end, decades = 310, 910, 4
		head, group, bar   = 60, 92, 24
	)
	bottom := head + group*len(all)
	c := newCanvas(bottom+80, description, paper)
	c.text(24, 34, lettering{size: 17, fill: ink, anchor: left, bold: true}, "Longest time without an acknowledged write")
	at := func(ms float64) int {
		return zero + int(math.Round((end-zero)*math.Log10(max(ms, 1))/decades))
	}
	for i, tick := range []string{"1 ms", "10 ms", "100 ms", "1 s", "10 s"} {
		x := at(math.Pow10(i))
		c.add(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="1"/>`, x, head-8, x, bottom, edge)
		c.text(x, bottom+20, lettering{size: 13, fill: muted, anchor: middle}, tick)
	}
	for i, g := range all {
		y := head + group*i
		c.text(24, y+16, lettering{size: 15, fill: ink, anchor: left, bold: true}, g.title)
		for n, b := range []struct {
			ms   float64
			fill colour
			name string
		}{{g.provider, ours, "provider"}, {g.without, theirs, g.by}} {
			at, y := at(b.ms), y+24+n*(bar+4)
			c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s" stroke-width="1.5"/>`, zero, y, at-zero, bar, b.fill, muted)
			c.text(at+8, y+17, lettering{size: 14, fill: ink, anchor: left, bold: true}, inWords(b.ms))
			c.text(zero-12, y+17, lettering{size: 13, fill: muted, anchor: right}, b.name)
		}
	}
	note := lettering{size: 13, fill: muted, anchor: left}
	c.text(24, bottom+46, note, "Medians of make bench. Logarithmic scale; shorter is better.")
	c.text(24, bottom+64, note, "Three writers write every 5 ms, or every 20 ms while all three members are replaced.")
	return c.svg()
}
