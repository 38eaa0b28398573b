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

// all returns the pictures as currently drawn.
func all(t *testing.T) []picture {
	t.Helper()
	drawn, err := pictures(read(t, benchmarks))
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

// The committed pictures are up to date, and there are no others.
func TestTheCommittedPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range all(t) {
		names[p.name] = true
		if committed := read(t, filepath.Join(folder, p.name)); committed != p.svg {
			t.Errorf("%s is not what is drawn: run make pictures", p.name)
		}
		if len(p.svg) > 300_000 {
			t.Errorf("%s has %d bytes", p.name, len(p.svg))
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !names[e.Name()] {
			t.Errorf("nothing draws %s", e.Name())
		}
	}
}

// shown matches the pictures on a page.
var shown = regexp.MustCompile(`!\[([^\]]*)\]\(([^()\s]+)\)`)

// published is the address of the pictures for readers of a registry, which
// shows no other pictures.
const published = "https://raw.githubusercontent.com/terraform-provider-etcd/terraform-provider-etcd/main/" + folder + "/"

// Every picture is on a page, always with its alternative text, and with its
// full address on the pages of the registry.
func TestPagesShowThePictures(t *testing.T) {
	t.Parallel()
	alts, seen := map[string]string{}, map[string]int{}
	for _, p := range all(t) {
		alts[p.name] = p.alt
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
	for _, p := range all(t) {
		for _, forbidden := range []string{"prefers-color-scheme", "href", "<script", "url(", "@import"} {
			if strings.Contains(p.svg, forbidden) {
				t.Errorf("%s contains %s", p.name, forbidden)
			}
		}
		es := elements(t, p.svg)
		width, size := 0.0, 0.0
		texts := 0
		for i, e := range es {
			number := func(name string) float64 {
				n, err := strconv.ParseFloat(e.attributes[name], 64)
				if err != nil {
					t.Fatalf("%s: %s of %+v: %v", p.name, name, e, err)
				}
				return n
			}
			switch {
			case i == 0:
				width = number("width")
			case e.name == "title" && e.text != p.alt:
				t.Errorf("%s is called %q", p.name, e.text)
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
					t.Errorf("%s: %q reaches from %.0f to %.0f of %.0f", p.name, e.text, from, from+wide, width)
				}
			}
		}
		if texts < 10 {
			t.Errorf("%s has %d texts", p.name, texts)
		}
	}
}

// Text has enough contrast: WCAG requires 4.5.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, on := range tones {
		if c := contrast(t, on.fill, on.text); c < 4.5 {
			t.Errorf("%s on %s: %.1f", on.text, on.fill, c)
		}
	}
	for _, c := range []colour{ink, muted, blue, red, brown, grape} {
		if got := contrast(t, c, paper); got < 4.5 {
			t.Errorf("%s on paper: %.1f", c, got)
		}
	}
	for _, h := range hues {
		if got := contrast(t, h.colour, screen.fill); got < 4.5 {
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

// The figures above the lanes are computed from the lanes and match the
// alternative text.
func TestTolerance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replacement replacement
		alt         string
	}{{rolling, rollingAlt}, {blueGreen, blueGreenAlt}} {
		voters, tolerated := c.replacement.voters(), c.replacement.tolerated()
		var said [2][]string
		for i := range voters {
			if i == 0 || voters[i] != voters[i-1] {
				said[0] = append(said[0], fmt.Sprint(voters[i]))
				said[1] = append(said[1], fmt.Sprint(tolerated[i]))
			}
		}
		for i, want := range []string{"voting members is %s.", "tolerates %s failures"} {
			if want = fmt.Sprintf(want, strings.Join(said[i], ", ")); !strings.Contains(c.alt, want) {
				t.Errorf("the alternative text does not say %q", want)
			}
		}
		steps := 0
		for _, a := range c.replacement.applies {
			steps += a.steps
		}
		for _, l := range c.replacement.lanes {
			if len(l.steps) != steps {
				t.Errorf("node %s has %d steps of %d", l.name, len(l.steps), steps)
			}
		}
	}
}

// No step of a replacement changes the number of voters by more than one.
func TestOneChangeAtATime(t *testing.T) {
	t.Parallel()
	for _, r := range []replacement{rolling, blueGreen} {
		voters := r.voters()
		for i := 1; i < len(voters); i++ {
			if d := voters[i] - voters[i-1]; d < -1 || d > 1 {
				t.Errorf("from step %d to step %d the voters go from %d to %d", i-1, i, voters[i-1], voters[i])
			}
		}
	}
}

// The picture of a node's life has the statuses that etcd_cluster documents.
func TestStatuses(t *testing.T) {
	t.Parallel()
	page := read(t, "templates/resources/cluster.md.tmpl")
	_, table, found := strings.Cut(page, "\n### Status\n")
	table, _, _ = strings.Cut(table, "\n#")
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [A-Z]").FindAllStringSubmatch(table, -1)
	if !found || len(rows) != len(phases) {
		t.Errorf("the page of etcd_cluster has %d statuses, the picture %d", len(rows), len(phases))
	}
	for _, p := range phases {
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[1] == p.name }) {
			t.Errorf("the page of etcd_cluster has no status %s", p.name)
		}
	}
}

func TestRecording(t *testing.T) {
	t.Parallel()
	svg, err := recording("a test", "   0.0  first\n   1.5\n  12.3     <second>\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`animation-delay:0.0s" x="24" y="74" fill="#e6edf3">first<`, `animation-delay:12.3s" x="24" y="110" fill="#e6edf3">` + "\u00a0\u00a0\u00a0&lt;second&gt;<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("missing %s in\n%s", want, svg)
		}
	}
	if _, err := recording("a test", "   0.0  first\nsecond\n"); err == nil {
		t.Error("a line without a time was drawn")
	}
}

// A table without the figures of the chart, or in another unit, gives an error.
func TestChartWithoutFigures(t *testing.T) {
	t.Parallel()
	text := read(t, benchmarks)
	for name, document := range map[string]string{
		"no table":     "# Nothing\n",
		"other unit":   strings.ReplaceAll(text, ") ms |", ") s |"),
		"other number": strings.ReplaceAll(text, "| 6.35 ", "| fast "),
	} {
		if _, err := pictures(document); err == nil {
			t.Errorf("%s: a chart was drawn", name)
		}
	}
}
