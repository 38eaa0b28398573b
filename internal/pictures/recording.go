// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

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
