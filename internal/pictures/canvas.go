// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	_ "embed"
	"encoding/xml"
	"strings"
	"text/template"
)

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
