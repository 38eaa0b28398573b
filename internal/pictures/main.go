// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Pictures draws the two pictures of the documentation that follow from data, as
// SVG: the chart of BENCHMARKS.md, and a recording of the demo. It also updates the
// head of BENCHMARKS.md from its tables. The tests fail if a committed file differs
// from its output. The other pictures are edited by hand.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

// picture is one file.
type picture struct{ name, alt, svg string }

// demoAlt is the alternative text of the recording, in the file and on the pages.
const demoAlt = "Recording of make demo. Three machines form a cluster. A second plan is empty. A new image replaces one machine in each of three applies. A fourth machine joins as a learner and is promoted. The leader is removed. Everything is destroyed."

// pictures draws both pictures. The document is BENCHMARKS.md.
func pictures(document string) ([]picture, error) {
	all, err := gaps(document)
	if err != nil {
		return nil, err
	}
	gap, err := chart(gapAlt(all), all)
	if err != nil {
		return nil, err
	}
	demo, err := recording(demoAlt, recorded)
	return []picture{{chartName, gapAlt(all), gap}, {"demo.svg", demoAlt, demo}}, err
}

// These paths are relative to the root of the project.
const (
	folder     = ".github/img"
	benchmarks = "BENCHMARKS.md"
	// chartName is the chart, whose alternative text contains figures.
	chartName = "write-gap.svg"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// write updates all files.
func write() error {
	text, err := os.ReadFile(benchmarks)
	if err != nil {
		return err
	}
	drawn, err := pictures(string(text))
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, p := range drawn {
		files[filepath.Join(folder, p.name)] = p.svg
		if p.name == chartName {
			if files[benchmarks], err = bench.Renew(string(text), "chart", fmt.Sprintf("![%s](%s/%s)\n", p.alt, folder, p.name)); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

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
func chart(alt string, all []bars) (string, error) {
	type bar struct {
		Width        int
		Fill         colour
		Figure, Name string
	}
	type gap struct {
		Title string
		Bars  []bar
	}
	scaled := func(ms float64, fill colour, name string) bar {
		return bar{int(math.Round(150 * math.Log10(max(ms, 1)))), fill, inWords(ms), name}
	}
	var drawn []gap
	for _, g := range all {
		drawn = append(drawn, gap{g.title, []bar{scaled(g.provider, "#0b5cad", "provider"), scaled(g.without, "#f2b84b", g.by)}})
	}
	bottom := 60 + 92*len(all)
	return draw("chart", struct {
		head
		Bottom int
		Ticks  []string
		Gaps   []gap
	}{head{bottom + 80, alt, "#ffffff"}, bottom, []string{"1 ms", "10 ms", "100 ms", "1 s", "10 s"}, drawn})
}
