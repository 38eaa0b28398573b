// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScenes plays scenes, each to the list of its changes: "+" adds a member, "^"
// gives it a vote, "-" removes it. Where the order is open, there are several lists.
func TestScenes(t *testing.T) {
	for _, c := range []struct {
		name string
		seed uint64
		scene
		want string
	}{
		{"one joins", 1, scene{voters: "abc", plans: []string{"a +f"}}, "one +f, one ^f"},
		{"one joins, and stops as soon as it has started", 1, scene{voters: "a", plans: []string{"a +f"}, victim: "f", how: "off", asked: "f", back: time.Minute}, "one +f, one ^f"},
		{"one joins while another is dead", 1, scene{voters: "abc", plans: []string{"a +f"}, victim: "c", how: "off", asked: "f", back: time.Minute}, "one +f, one ^f"},
		{"one joins, and the second answer is lost", 1, scene{voters: "abc", plans: []string{"a +f"}, lose: 2}, "one +f, one ^f"},
		{"one joins, and the third answer is lost", 1, scene{voters: "abc", plans: []string{"a +f"}, lose: 3}, "one +f, one ^f"},
		{"two join", 1, scene{voters: "abc", plans: []string{"a +f +g"}}, "one +g, one ^g, one +f, one ^f | one +f, one ^f, one +g, one ^g"},
		{"the leader leaves", 1, scene{voters: "abc", plans: []string{"-a b c"}}, "one -a"},
		{"one joins, another leaves", 1, scene{voters: "ab", plans: []string{"-a b", "+f"}}, "one -a, two +f, two ^f"},
		{"two leave", 1, scene{voters: "abcde", plans: []string{"-a", "-b"}}, "two -b, one -a | one -a, two -b"},
		{"one is replaced", 1, scene{voters: "abc", plans: []string{"!a b c"}}, "one -a, one +a, one ^a"},
		{"two are replaced in two workspaces", 1, scene{voters: "abcd", plans: []string{"!a c", "!b d"}, latency: 20 * time.Millisecond}, "one -a, one +a, one ^a, two -b, two +b, two ^b | two -b, two +b, two ^b, one -a, one +a, one ^a"},
		{"two are replaced, and one workspace stands still", 1, scene{voters: "abc", plans: []string{"!a", "!b"}, freeze: 100, latency: 20 * time.Millisecond}, "two -b, two +b, two ^b | one -a, one +a, one ^a"},
		{"two workspaces add one member", 1, scene{voters: "abc", plans: []string{"+f", "+f"}}, "one +f, one ^f | two +f, two ^f"},
		{"another workspace adds it under another name", 1, scene{voters: "abc", plans: []string{"+f", "=f"}, fails: 2, never: 2}, "two +f"},
		{"two leave, and a third is dead", 11, scene{voters: "abcd", plans: []string{"-a", "-b"}, dead: "c", fails: 1, latency: 20 * time.Millisecond}, "one -a | two -b"},
		{"the last voter", 1, scene{voters: "a", plans: []string{"a"}, destroy: true}, ""},
		{"all are destroyed, and two are dead", 1, scene{voters: "abcde", plans: []string{"a b c d e"}, dead: "de", destroy: true}, "one -d, one -a, one -e, one -b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, changes := c.play(t, c.seed)
			if got := strings.Join(changes, ", "); !slices.Contains(strings.Split(c.want, " | "), got) {
				t.Errorf("changes %s, want %s", got, c.want)
			}
		})
	}
}
