// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Pictures draws the two pictures of the documentation that follow from data, as
// SVG: the chart of BENCHMARKS.md, and a recording of the demo. It also updates the
// head of BENCHMARKS.md from its tables. The tests fail if a committed file differs
// from its output. The other pictures are edited by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"

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
