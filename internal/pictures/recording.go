// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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

// hues are the styles of lines. The first match applies.
var hues = []struct {
	line   *regexp.Regexp
	colour colour
	bold   bool
}{
	{regexp.MustCompile(`^(\$|\d  )`), bright, true},
	{regexp.MustCompile(`^All `), green, true},
	{regexp.MustCompile(`^   (plan|apply) `), sky, false},
	{regexp.MustCompile(`^   NAME `), dim, false},
	{regexp.MustCompile(` learner `), amber, false},
	{regexp.MustCompile(` Warning: `), amber, false},
	{regexp.MustCompile(`^   (\d\d:|d has |All )`), green, false},
}

// recording draws the output of the demo. The lines appear once, at their
// recorded times. A viewer without animation shows all of them.
func recording(description, text string) (string, error) {
	const top, size, height = 62, 14, 18
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	c := newCanvas(top+height*(len(lines)+1)+10, description, screen)
	c.add(`<style>@media (prefers-reduced-motion: no-preference) {.l {animation: l .2s backwards} @keyframes l {from {opacity: 0}}}</style>`)
	for i, fill := range []colour{"#ff5f57", "#febc2e", "#28c840"} {
		c.add(`<circle cx="%d" cy="22" r="6" fill="%s"/>`, 24+20*i, fill)
	}
	c.add(`<g font-family="%s" font-size="%d" xml:space="preserve">`, mono, size)
	c.output(top-8, 0, "$ make demo")
	for i, line := range lines {
		second, said, found := strings.Cut(strings.TrimLeft(line, " "), "  ")
		at, err := strconv.ParseFloat(second, 64)
		if err != nil {
			return "", fmt.Errorf("line %d of the recording has no time: %w", i+1, err)
		}
		if found {
			c.output(top+height*(i+1)-6, at, said)
		}
	}
	c.add(`</g>`)
	return c.svg(), nil
}

// output writes a line of the terminal that appears at that second.
func (c *canvas) output(y int, at float64, text string) {
	fill, weight := light, ""
	for _, h := range hues {
		if h.line.MatchString(text) {
			if fill = h.colour; h.bold {
				weight = ` font-weight="700"`
			}
			break
		}
	}
	// Non-breaking spaces keep columns aligned if xml:space is ignored.
	text = strings.ReplaceAll(escape(text), " ", "\u00a0")
	c.add(`<text class="l" style="animation-delay:%.1fs" x="24" y="%d" fill="%s"%s>%s</text>`, at, y, fill, weight, text)
}
