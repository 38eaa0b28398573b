// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Pictures draws the two pictures of the documentation that follow from data, as
// SVG: the chart of BENCHMARKS.md, and a recording of the demo. It also updates the
// head of BENCHMARKS.md from its tables. The tests fail if a committed file differs
// from its output. The other pictures are edited by hand.
package main

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/bench"
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

// recorded is the output of the demo, each line with the second at which it
// was printed. make recording renews it.
//
//go:embed demo.txt
var recorded string

// screen is the colour of a terminal. The others are the colours of its text.
const (
	screen colour = "#0d1117"
	light  colour = "#e6edf3"
	dim    colour = "#9aa4af"
	bright colour = "#ffffff"
	green  colour = "#56d364"
	amber  colour = "#e3b341"
	sky    colour = "#79c0ff"
)

type hue struct {
	line   *regexp.Regexp
	colour colour
	bold   bool
}

// hues are the styles of lines. The first match applies.
var hues = []hue{
	{regexp.MustCompile(`^(\$|\d  )`), bright, true},
	{regexp.MustCompile(`^All `), green, true},
	{regexp.MustCompile(`^   (plan|apply) `), sky, false},
	{regexp.MustCompile(`^   NAME `), dim, false},
	{regexp.MustCompile(` learner `), amber, false},
	{regexp.MustCompile(` Warning: `), amber, false},
	{regexp.MustCompile(`^   (\d\d:|d has |All )`), green, false},
}

// line is a line of the terminal and the second at which it appears.
type line struct {
	At     float64
	Y      int
	Colour colour
	Bold   bool
	Text   string
}

// recording draws the output of the demo. The lines appear once, at their
// recorded times. A viewer without animation shows all of them.
func recording(alt, text string) (string, error) {
	printed := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines := []line{{Y: 54, Text: "$ make demo"}}
	for i, one := range printed {
		second, said, found := strings.Cut(strings.TrimLeft(one, " "), "  ")
		at, err := strconv.ParseFloat(second, 64)
		if err != nil {
			return "", fmt.Errorf("line %d of the recording has no time: %w", i+1, err)
		}
		if found {
			lines = append(lines, line{At: at, Y: 74 + 18*i, Text: said})
		}
	}
	for i := range lines {
		lines[i].Colour = light
		if h := slices.IndexFunc(hues, func(h hue) bool { return h.line.MatchString(lines[i].Text) }); h >= 0 {
			lines[i].Colour, lines[i].Bold = hues[h].colour, hues[h].bold
		}
	}
	return draw("recording", struct {
		head
		Lines []line
	}{head{90 + 18*len(printed), alt, screen}, lines})
}

// colour is an SVG colour.
type colour string

// head is the beginning of a picture: its height, what screen readers read, and its panel,
// which is part of the picture, so that the colours work on light and dark pages.
type head struct {
	Height int
	Alt    string
	Panel  colour
}

//go:embed pictures.tmpl
var pictureTemplates string

var drawings = template.Must(template.New("").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
	"mul": func(a, b int) int { return a * b },
	"xml": func(text string) (string, error) {
		var b strings.Builder
		err := xml.EscapeText(&b, []byte(text))
		return b.String(), err
	},
	// Non-breaking spaces keep columns aligned if xml:space is ignored.
	"fixed": func(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") },
}).Parse(pictureTemplates))

// draw returns a picture by its template.
func draw(name string, of any) (string, error) {
	var b strings.Builder
	err := drawings.ExecuteTemplate(&b, name, of)
	return b.String(), err
}
