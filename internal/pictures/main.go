// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Pictures draws the pictures of the documentation, as SVG, from their data:
// states, figures, and a recording of the demo. It also updates the head of
// BENCHMARKS.md from its tables. The tests fail if a committed file differs
// from its output.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

// picture is one file.
type picture struct{ name, alt, svg string }

// These are the alternative texts, in the files and on the pages.
const (
	orderingAlt = "Terraform creates in this order: etcd_discovery_token, if the addresses are not known, etcd_cluster, your machine, etcd_member or etcd_learner. " +
		"A new member is added to etcd only in the last step. Terraform destroys in the opposite order: the member is removed first, while its machine still runs."
	rollingAlt = "Rolling replacement of three members, one per apply. Each member is removed, its machine is replaced, and the new member joins as a learner and is promoted. " +
		"The number of voting members is 3, 2, 3, 2, 3, 2, 3. The cluster tolerates 1, 0, 1, 0, 1, 0, 1 failures."
	blueGreenAlt = "Blue/green replacement of three members in two applies. The first apply adds x, y and z, the second removes a, b and c. " +
		"The number of voting members is 3, 4, 5, 6, 5, 4, 3. The cluster tolerates 1, 1, 2, 2, 2, 1, 1 failures: never fewer than one."
	lifeAlt = "The status of a node. A new node is pending until Terraform adds its member as a learner. The join script starts etcd, etcd copies the data, and Terraform promotes the learner to voter. " +
		"Initial members go from pending to voter when their join scripts start etcd, which forms the cluster. " +
		"A voter that fails is unreachable until you repair it. After replace_unreachable_after Terraform declares it failed and removes it. " +
		"A node whose machine is replaced is replacing until Terraform has added its member again, with a new member ID, and promoted it."
	demoAlt = "Recording of make demo. Three machines form a cluster. A second plan is empty. A new image replaces one machine in each of three applies. A fourth machine joins as a learner and is promoted. The leader is removed. Everything is destroyed."
)

// pictures draws all pictures. The document is BENCHMARKS.md.
func pictures(document string) ([]picture, error) {
	all, err := gaps(document)
	if err != nil {
		return nil, err
	}
	demo, err := recording(demoAlt, recorded)
	if err != nil {
		return nil, err
	}
	return []picture{
		{"ordering.svg", orderingAlt, ordering(orderingAlt)},
		{"rolling.svg", rollingAlt, swimLanes(rollingAlt, rolling)},
		{"blue-green.svg", blueGreenAlt, swimLanes(blueGreenAlt, blueGreen)},
		{"life.svg", lifeAlt, life(lifeAlt)},
		{chartName, gapAlt(all), chart(gapAlt(all), all)},
		{"demo.svg", demoAlt, demo},
	}, nil
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
