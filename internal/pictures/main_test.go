// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../"

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// all returns the committed pictures, by name.
func all(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil || len(entries) < 6 {
		t.Fatalf("%d pictures, %v", len(entries), err)
	}
	out := map[string]string{}
	for _, e := range entries {
		out[e.Name()] = read(t, filepath.Join(folder, e.Name()))
	}
	return out
}

// The committed pictures that are drawn are up to date.
func TestTheCommittedPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	drawn, err := pictures(read(t, benchmarks))
	if err != nil {
		t.Fatal(err)
	}
	committed := all(t)
	for _, p := range drawn {
		if committed[p.name] != p.svg {
			t.Errorf("%s is not what is drawn: run make pictures", p.name)
		}
	}
	for name, svg := range committed {
		if len(svg) > 300_000 {
			t.Errorf("%s has %d bytes", name, len(svg))
		}
	}
}

// shown matches the pictures on a page.
var shown = regexp.MustCompile(`!\[([^\]]*)\]\(([^()\s]+)\)`)

// published is the address of the pictures for readers of a registry, which
// shows no other pictures.
const published = "https://raw.githubusercontent.com/terraform-provider-etcd/terraform-provider-etcd/main/" + folder + "/"

// Every picture is on a page, always with its title as the alternative text, and with
// its full address on the pages of the registry.
func TestPagesShowThePictures(t *testing.T) {
	t.Parallel()
	alts, seen := map[string]string{}, map[string]int{}
	for name, svg := range all(t) {
		alts[name] = title(t, svg)
	}
	pages := []string{"README.md", benchmarks}
	for _, dir := range []string{"docs", "templates", "examples"} {
		err := filepath.WalkDir(root+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".md.tmpl") {
				pages = append(pages, strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages {
		for _, image := range shown.FindAllStringSubmatch(read(t, page), -1) {
			name, ours := strings.CutPrefix(image[2], published)
			if !ours && page == filepath.Base(page) {
				name, ours = strings.CutPrefix(image[2], folder+"/")
			}
			if alt, known := alts[name]; !ours || !known {
				t.Errorf("%s shows %s, which is no picture that a reader of it can see", page, image[2])
			} else if image[1] != alt {
				t.Errorf("%s: %s has the alternative text %q, want %q", page, name, image[1], alt)
			}
			seen[name]++
		}
	}
	for name := range alts {
		if seen[name] == 0 {
			t.Errorf("no page shows %s", name)
		}
	}
}

// title is the alternative text of a picture.
func title(t *testing.T, svg string) string {
	t.Helper()
	es := elements(t, svg)
	if len(es) < 2 || es[1].name != "title" || es[1].text == "" {
		t.Fatalf("no title in %.80s", svg)
	}
	return es[1].text
}

// element is an element of a picture.
type element struct {
	name, text string
	attributes map[string]string
}

func elements(t *testing.T, svg string) []element {
	t.Helper()
	var out []element
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			out = append(out, e)
		case xml.CharData:
			out[max(len(out)-1, 0)].text += strings.TrimSpace(string(token))
		}
	}
}

// A picture is self-contained, works on any page, and has all its text on the
// panel, also in a wide font.
func TestPicturesStandAlone(t *testing.T) {
	t.Parallel()
	for name, svg := range all(t) {
		for _, forbidden := range []string{"prefers-color-scheme", "href", "<script", "url(", "@import"} {
			if strings.Contains(svg, forbidden) {
				t.Errorf("%s contains %s", name, forbidden)
			}
		}
		es := elements(t, svg)
		width, size := 0.0, 0.0
		texts := 0
		for i, e := range es {
			number := func(attribute string) float64 {
				n, err := strconv.ParseFloat(e.attributes[attribute], 64)
				if err != nil {
					t.Fatalf("%s: %s of %+v: %v", name, attribute, e, err)
				}
				return n
			}
			switch {
			case i == 0:
				width = number("width")
			case e.name == "g":
				size = number("font-size")
			case e.name == "text":
				texts++
				if e.attributes["font-size"] != "" {
					size = number("font-size")
				}
				wide := 0.62 * size * float64(len([]rune(e.text)))
				from := number("x")
				switch e.attributes["text-anchor"] {
				case middle:
					from -= wide / 2
				case right:
					from -= wide
				}
				if from < 8 || from+wide > width-8 {
					t.Errorf("%s: %q reaches from %.0f to %.0f of %.0f", name, e.text, from, from+wide, width)
				}
			}
		}
		if texts < 10 {
			t.Errorf("%s has %d texts", name, texts)
		}
	}
}

// Text has enough contrast: WCAG requires 4.5.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, c := range []colour{ink, muted} {
		if got := contrast(t, c, paper); got < 4.5 {
			t.Errorf("%s on paper: %.1f", c, got)
		}
	}
	for _, h := range hues {
		if got := contrast(t, h.colour, screen); got < 4.5 {
			t.Errorf("%s on the screen: %.1f", h.colour, got)
		}
	}
	if got := contrast(t, "#000000", "#ffffff"); math.Abs(got-21) > 0.01 {
		t.Errorf("black on white: %.2f", got)
	}
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b colour) float64 {
	t.Helper()
	light := func(c colour) float64 {
		var rgb [3]int
		if _, err := fmt.Sscanf(string(c), "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(rgb[i]) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum + 0.05
	}
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

// The figures in a picture of a replacement are those of its alternative text.
func TestTolerance(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`\b\d\b`)
	for _, name := range []string{"rolling.svg", "blue-green.svg"} {
		var drawn []string
		for _, e := range elements(t, all(t)[name])[2:] {
			if e.name == "text" && number.FindString(e.text) == e.text {
				drawn = append(drawn, e.text)
			}
		}
		_, alt, _ := strings.Cut(title(t, all(t)[name]), "The number of voting members is ")
		// Equal figures share a cell.
		if said := slices.Compact(number.FindAllString(alt, -1)); len(said) < 10 || !slices.Equal(said, drawn) {
			t.Errorf("%s has the figures %v, and says %v", name, drawn, said)
		}
	}
}

// The picture of a node's life has the statuses that etcd_cluster documents.
func TestStatuses(t *testing.T) {
	t.Parallel()
	page := read(t, "templates/resources/cluster.md.tmpl")
	_, table, found := strings.Cut(page, "\n### Status\n")
	table, _, _ = strings.Cut(table, "\n#")
	var documented, drawn []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [A-Z]").FindAllStringSubmatch(table, -1) {
		documented = append(documented, row[1])
	}
	for _, e := range elements(t, all(t)["life.svg"]) {
		if e.attributes["font-weight"] == "700" && e.attributes["font-family"] == mono {
			drawn = append(drawn, e.text)
		}
	}
	slices.Sort(documented)
	slices.Sort(drawn)
	if !found || len(drawn) == 0 || !slices.Equal(documented, drawn) {
		t.Errorf("the page of etcd_cluster has the statuses %q, the picture %q", documented, drawn)
	}
}
