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
	paper  colour = "#ffffff"
	edge   colour = "#d0d7de"
	ink    colour = "#1f2328"
	muted  colour = "#57606a"
	ours   colour = "#0b5cad"
	theirs colour = "#f2b84b"
)

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
func newCanvas(height int, description string, panel colour) *canvas {
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="%s">`, width, height, width, height, sans)
	c.add(`<title>%s</title>`, escape(description))
	c.add(`<rect x="1" y="1" width="%d" height="%d" rx="10" fill="%s" stroke="%s" stroke-width="2"/>`, width-2, height-2, panel, edge)
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
}

// text writes one line with its baseline at y.
func (c *canvas) text(x, y int, l lettering, text string) {
	more := ""
	if l.bold {
		more = ` font-weight="700"`
	}
	c.add(`<text x="%d" y="%d" font-size="%d" fill="%s" text-anchor="%s"%s>%s</text>`, x, y, l.size, l.fill, l.anchor, more, escape(text))
}
