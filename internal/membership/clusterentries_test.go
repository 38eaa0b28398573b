// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What entries of etcd_cluster say does not depend on their order, but for the latest plan
// of a restore, and with one entry more nothing is said less.
func TestClusterEntries(t *testing.T) {
	stored := ClusterEntry{Cluster: 1, Formed: true, Nodes: []string{"n1", "n2"}, PeerURLs: []string{"p1", "p2"}}
	forming := ClusterEntry{Nodes: []string{"n3"}, PeerURLs: []string{"p3"}}
	planned := ClusterEntry{Object: "x", PeerURLs: []string{"p1", "p2"}}
	other := ClusterEntry{Object: "y", PeerURLs: []string{"p2", "p4"}}
	gives := ClusterEntry{GivesUp: &GivingUp{GiveUpRequest: GiveUpRequest{Cluster: 1}}}
	says := func(clusters []ClusterEntry) (out []string) {
		for _, url := range []string{"p1", "p2", "p3", "p4"} {
			if c, ok := InState(clusters, []string{url}); ok {
				out = append(out, fmt.Sprint(url, " is in the state, of ", c.Cluster))
			}
		}
		for _, node := range []string{"n1", "n2", "n3"} {
			e := Entry{Effect: Created, Initial: 3, After: &Side{Node: node}}.Located(clusters)
			if e.Built {
				out = append(out, fmt.Sprint(node, " is of ", e.Cluster))
			}
		}
		for _, c := range []ClusterEntry{planned, other} {
			for _, url := range c.SharedBy(clusters) {
				out = append(out, c.Object+" shares "+url)
			}
		}
		for _, g := range GivenUp(clusters) {
			out = append(out, fmt.Sprint(g.Cluster, " is given up"))
		}
		return out
	}
	all := []ClusterEntry{stored, forming, planned, other, gives, gives}
	want := []string{
		"p1 is in the state, of 1", "p2 is in the state, of 1", "p3 is in the state, of 0",
		"n1 is of 1", "n2 is of 1", "x shares p2", "y shares p2", "1 is given up",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := says(all); !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", all, got, want)
		}
		for i := range all {
			for _, said := range says(all[:i]) {
				if !slices.Contains(want, said) {
					t.Fatalf("%v: %q is said by %d entries, and not by all", all, said, i)
				}
			}
		}
	}
	if e := (Entry{Effect: Created, Built: true, Cluster: 5, After: &Side{Node: "n1"}}).Located(all); !e.Built || e.Cluster != 5 {
		t.Errorf("a node of a later member is located: %+v", e)
	}
	again := ClusterEntry{GivesUp: &GivingUp{GiveUpRequest: GiveUpRequest{Cluster: 1}, Again: true}}
	if g := GivenUp([]ClusterEntry{gives, again}); len(g) != 1 || !g[0].Again {
		t.Errorf("the first plan of a restore counts: %+v", g)
	}
}
