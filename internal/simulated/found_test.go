// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import "testing"

// foundGames are games that the search has found, with the seed of their order of events. Each
// is the shortest one that showed a defect of the provider.
var foundGames = map[string]struct {
	seed  uint64
	lines []string
}{
	// The successor of c never started, and was added anew as another learner. That removal
	// ended the turn of c, and d could be replaced before c had come back.
	"a turn outlives a learner that is added anew (C13)": {54, []string{
		"form a b c", "add d", "beside", "broken", `apply -replace=machine.node["c"]`, "boot c", "wait 20m",
		`taint etcd_member.node["d"]`, "apply", "converge",
	}},
	// The node ID that the plan gives is not known, and an imported member has none: they
	// were taken for the same one, whose peer URLs change in place.
	"an imported member whose address changes follows its node": {110, []string{
		"form a b c", `forget etcd_member.node["a"]`, "import a", "address a", "converge",
	}},
	// d was added while new addresses of b and c were pending. Its node knew only these, so the
	// cluster could not be observed once a was dead.
	"a node knows the addresses that are in force": {22, []string{
		"form a b c", "address b", "address c", "at 44 kill", "add d", `forget etcd_member.node["a"]`,
		`apply -replace=machine.node["a"] -refresh=false`, "converge",
	}},
	// The machine and the peer URL of g change in one plan, which replaces it: its two entries
	// were taken for two changes of peer URLs.
	"a member whose machine and peer URL change is replaced": {178, []string{
		"form a b c", "theirs 1", "two", "theirs 2", "urls 3380", "converge",
	}},
	// etcd_cluster had built another node for a, and nothing had followed when c was lost for
	// good. Every later plan replaced the machine of a, and was refused for it.
	"a rebuild that nobody followed is taken back beside a dead voter": {78, []string{
		"form a b c", "rebuild a", "between wipe c", "apply -target=etcd_cluster.this", "converge",
	}},
	// The leader was started after b had died, and tells of b only by what it cannot send.
	"a voter that the leader never met is proven dead": {87, []string{
		"form a b c", "image 3", "apply", "at 29 kill", `forget etcd_member.node["b"]`, "beside -refresh=false", "at 66 off c 1s", "apply", "converge",
	}},
}

func TestFoundGames(t *testing.T) {
	t.Parallel()
	for name, g := range foundGames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, g.seed, g.lines...)
		})
	}
}
