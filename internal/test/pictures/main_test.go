// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

const root = "../../../"

func read(t *testing.T, name string) string {
	t.Helper()
	return must.Read(t, filepath.Join(root, name))
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
	must.Succeed(t, err)
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
	pages, seen := []string{"README.md", benchmarks}, map[string]bool{}
	for _, dir := range []string{"docs", "templates", "examples"} {
		err := filepath.WalkDir(root+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".md.tmpl") {
				pages = append(pages, strings.TrimPrefix(path, root))
			}
			return err
		})
		must.Succeed(t, err)
	}
	committed := all(t)
	for _, page := range pages {
		for _, image := range shown.FindAllStringSubmatch(read(t, page), -1) {
			name := strings.TrimPrefix(image[2], published)
			if page == filepath.Base(page) {
				name = strings.TrimPrefix(name, folder+"/")
			}
			if svg, known := committed[name]; !known {
				t.Errorf("%s shows %s, which is no picture that a reader of it can see", page, image[2])
			} else if alt := elements(t, svg)[1].Text; image[1] != alt {
				t.Errorf("%s: %s has the alternative text %q, want %q", page, name, image[1], alt)
			}
			seen[name] = true
		}
	}
	if len(seen) != len(committed) {
		t.Errorf("the pages show %d of %d pictures", len(seen), len(committed))
	}
}

// element is an element of a picture.
type element struct {
	XMLName    xml.Name
	Attributes []xml.Attr `xml:",any,attr"`
	Text       string     `xml:",chardata"`
	Children   []element  `xml:",any"`
}

// attribute is the value of an attribute, "" without it.
func (e element) attribute(name string) string {
	for _, a := range e.Attributes {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// elements returns the elements of a picture in their order: the second one is its title.
func elements(t *testing.T, svg string) (out []element) {
	t.Helper()
	var picture element
	must.Succeed(t, xml.Unmarshal([]byte(svg), &picture))
	var add func(e element)
	add = func(e element) {
		out = append(out, e)
		for _, child := range e.Children {
			add(child)
		}
	}
	if add(picture); len(out) < 2 || out[1].XMLName.Local != "title" || out[1].Text == "" {
		t.Fatalf("no title in %.80s", svg)
	}
	return out
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
		width, size, texts := 0.0, 0.0, 0
		for i, e := range elements(t, svg) {
			number := func(attribute string) float64 {
				n, err := strconv.ParseFloat(e.attribute(attribute), 64)
				if err != nil {
					t.Fatalf("%s: %s of %+v: %v", name, attribute, e, err)
				}
				return n
			}
			if i == 0 {
				width = number("width")
			}
			if e.attribute("font-size") != "" {
				size = number("font-size")
			}
			if e.XMLName.Local != "text" {
				continue
			}
			texts++
			wide := 0.62 * size * float64(len([]rune(strings.TrimSpace(e.Text))))
			from := number("x") - map[string]float64{"middle": wide / 2, "end": wide}[e.attribute("text-anchor")]
			if from < 8 || from+wide > width-8 {
				t.Errorf("%s: %q reaches from %.0f to %.0f of %.0f", name, e.Text, from, from+wide, width)
			}
		}
		if texts < 10 {
			t.Errorf("%s has %d texts", name, texts)
		}
	}
}

// Text has enough contrast: WCAG 2 requires 4.5.
func TestContrast(t *testing.T) {
	t.Parallel()
	on := map[colour]colour{"#1f2328": "#ffffff", "#57606a": "#ffffff"} // of the chart
	for _, h := range hues {
		on[h.colour] = screen
	}
	light := func(c colour) (sum float64) {
		var rgb [3]int
		_, err := fmt.Sscanf(string(c), "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
		must.Succeed(t, err)
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			sum += weight * math.Pow((float64(rgb[i])/255+0.055)/1.055, 2.4)
		}
		return sum + 0.05
	}
	for text, panel := range on {
		x, y := light(text), light(panel)
		if got := max(x, y) / min(x, y); got < 4.5 {
			t.Errorf("%s on %s: %.1f", text, panel, got)
		}
	}
}

// The figures in a picture of a replacement are those of its alternative text.
func TestTolerance(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`\b\d\b`)
	for _, name := range []string{"rolling.svg", "blue-green.svg"} {
		var drawn []string
		es := elements(t, all(t)[name])
		for _, e := range es[2:] {
			if e.XMLName.Local == "text" && number.FindString(e.Text) == e.Text {
				drawn = append(drawn, e.Text)
			}
		}
		_, alt, _ := strings.Cut(es[1].Text, "The number of voting members is ")
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
		if e.attribute("font-weight") == "700" && strings.HasPrefix(e.attribute("font-family"), "ui-monospace") {
			drawn = append(drawn, e.Text)
		}
	}
	slices.Sort(documented)
	slices.Sort(drawn)
	if !found || len(drawn) == 0 || !slices.Equal(documented, drawn) {
		t.Errorf("the page of etcd_cluster has the statuses %q, the picture %q", documented, drawn)
	}
}

func TestMain(m *testing.M) { acctest.Main(m) }

// The demo checks itself. It prints what its picture shows, and leaves no files. What a
// user has set has no effect.
func TestDemo(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	demo := exec.CommandContext(etcdtest.WaitContext(t), filepath.Join(root, "tools", "demo"))
	demo.Env = append(os.Environ(), "TMPDIR="+tmp, "CLI="+acctest.CLI(t), "PROVIDER="+acctest.ProviderBinary(t),
		"ETCD="+etcdtest.Binary(t, etcdtest.V36), "ETCDCTL="+etcdtest.EtcdctlBinary(t, etcdtest.V36),
		"TF_LOG=error", "TF_CLI_ARGS_plan=-no-such-flag", "TF_VAR_directory=/nowhere", "ETCDCTL_ENDPOINTS=nowhere:1", "ETCD_NAME=nobody")
	text, err := demo.CombinedOutput()
	out := string(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are escape sequences in what is no terminal")
	}
	// The picture shows a run whose leader was one of a, b and c, as in nearly every run.
	if strings.Contains(out, ", the leader, is removed") {
		printed := regexp.MustCompile(`(?m)^ *\d+\.\d( {2}|$)`).ReplaceAllString(recorded, "")
		if got, want := shape(out), shape(printed); got != want {
			t.Errorf("the recording is not what the demo prints: run make recording\n%s\nthe recording:\n%s", got, want)
		}
	}
}

// shape returns the output without the parts that differ between two runs.
func shape(out string) string {
	for _, varies := range []struct{ pattern, as string }{
		{`(Terraform|OpenTofu) v\S+`, "CLI"},
		{`\d+\.\d+\.\d+`, "VERSION"},
		{`everything in \S+`, "DIRECTORY"},
		{`[0-9a-f]{16}|[0-9a-f]{15} |[0-9a-f]{14} `, "ID"},
		{`(127\.0\.0\.1|VERSION\.1):\d+`, "PORT"},
		{`\d\d:\d\d:\d\d\.\d+`, "TIME"},
		{`\d+\.\d s`, "SECONDS"},
		{`All \d+ processes`, "PROCESSES"},
		{`voter +leader`, "voter"},
		{`\b[a-d]\b`, "NAME"},
		{` +`, " "},
	} {
		out = regexp.MustCompile(varies.pattern).ReplaceAllString(out, varies.as)
	}
	return out
}
