// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// colour is an SVG colour.
type colour string

// These are the colours of lines and of text on the panel. The panel is part of
// every picture, so the colours work on light and dark pages.
const (
	paper colour = "#ffffff"
	edge  colour = "#d0d7de"
	ink   colour = "#1f2328"
	muted colour = "#57606a"
	blue  colour = "#0b5cad"
	red   colour = "#b42318"
	brown colour = "#8a4600"
	grape colour = "#6639ba"
)

// tone is the colour of an area and of the text in it.
type tone struct{ fill, text colour }

// These are the areas. They differ in lightness and in hue.
var (
	plain    = tone{"#f6f8fa", ink}
	voting   = tone{blue, paper}
	learning = tone{"#f2b84b", ink}
	absent   = tone{"#e4e7eb", ink}
	warned   = tone{"#ffe1dc", red}
	calm     = tone{"#dff3e4", "#0f5132"}
)

// tones contains all areas, for the test of their contrast.
var tones = []tone{plain, voting, learning, absent, warned, calm, screen}

// sans and mono are fonts with an equivalent on every system.
const (
	sans = "-apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif"
	mono = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)

// width is the width of all pictures.
const width = 1010

// canvas collects the elements of one picture.
type canvas struct{ b strings.Builder }

// newCanvas returns a picture with its panel. Screen readers read the
// description.
func newCanvas(height int, description string, panel tone) *canvas {
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="%s">`, width, height, width, height, sans)
	c.add(`<title>%s</title>`, escape(description))
	c.add(`<rect x="1" y="1" width="%d" height="%d" rx="10" fill="%s" stroke="%s" stroke-width="2"/>`, width-2, height-2, panel.fill, edge)
	return c
}

// svg returns the finished picture.
func (c *canvas) svg() string { return c.b.String() + "</svg>\n" }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a strings.Builder accepts all writes
	}
	return b.String()
}

// These are the positions of a text relative to its point.
const (
	left   = "start"
	middle = "middle"
	right  = "end"
)

// lettering is the style of a text.
type lettering struct {
	size   int
	fill   colour
	anchor string
	bold   bool
	mono   bool
}

// text writes one line with its baseline at y.
func (c *canvas) text(x, y int, l lettering, text string) {
	more := ""
	if l.bold {
		more += ` font-weight="700"`
	}
	if l.mono {
		more += ` font-family="` + mono + `"`
	}
	c.add(`<text x="%d" y="%d" font-size="%d" fill="%s" text-anchor="%s"%s>%s</text>`, x, y, l.size, l.fill, l.anchor, more, escape(text))
}

// box draws an area with rounded corners.
func (c *canvas) box(x, y, width, height int, t tone, border colour) {
	c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s" stroke-width="1.5"/>`, x, y, width, height, t.fill, border)
}

// dashed draws an area for something that does not exist.
func (c *canvas) dashed(x, y, width, height int, t tone) {
	c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s" stroke-width="1.5" stroke-dasharray="5 4"/>`, x, y, width, height, t.fill, muted)
}

// line draws a straight line.
func (c *canvas) line(x1, y1, x2, y2 int, stroke colour) {
	c.add(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="1"/>`, x1, y1, x2, y2, stroke)
}

// arrow draws a line through the points, with round corners and a head at its
// end. The last two points must be on one horizontal or vertical line.
func (c *canvas) arrow(stroke colour, points ...[2]int) {
	const head = 11
	last, before := points[len(points)-1], points[len(points)-2]
	dx, dy := sign(last[0]-before[0]), sign(last[1]-before[1])
	foot := [2]int{last[0] - head*dx, last[1] - head*dy}
	path := fmt.Sprintf("M%d %d", points[0][0], points[0][1])
	for _, p := range append(points[1:len(points)-1:len(points)-1], foot) {
		path += fmt.Sprintf(" L%d %d", p[0], p[1])
	}
	c.add(`<path d="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"/>`, path, stroke)
	c.add(`<path d="M%d %d L%d %d L%d %d Z" fill="%s"/>`, last[0], last[1], foot[0]+6*dy, foot[1]+6*dx, foot[0]-6*dy, foot[1]-6*dx, stroke)
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// disc draws a number in a circle.
func (c *canvas) disc(x, y int, fill colour, number int) {
	c.add(`<circle cx="%d" cy="%d" r="13" fill="%s"/>`, x, y, fill)
	c.text(x, y+5, lettering{size: 15, fill: paper, anchor: middle, bold: true}, fmt.Sprint(number))
}
