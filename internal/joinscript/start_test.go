// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// The beginning of a log of etcd 3.6, and the member ID and the cluster ID in it.
var dataLog = []byte{
	4, 0, 0, 0, 0, 0, 0, 132, 8, 4, 16, 0, 0, 0, 0, 0,
	30, 0, 0, 0, 0, 0, 0, 130, 8, 1, 16, 217, 241, 204, 143, 8,
	26, 20, 8, 187, 226, 142, 236, 227, 194, 215, 129, 117, 16, 184, 138, 174,
	164, 218, 249, 229, 218, 29, 0, 0,
}

const (
	dataID      = "75035e163d83b13b"
	dataCluster = "1db597cda48b8538"
)

// Test that the script decides as the rules do.
func TestStarts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		for i, s := range rules.Starts() {
			if sh.due(i) {
				t.Run(s.Name, func(t *testing.T) { newScene(t, sh, nil, "", rowOf(s.Line)).play() })
			}
		}
	}, "static", "discovery")
}

// randomStates is how many states the script and the rules are compared in.
const randomStates = 250

// Test that the script decides as the rules do in random states, the same ones in each
// run. A state is printed as a line of starts.txt.
func TestRandomStates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		random := rand.New(rand.NewPCG(1, 2))
		made := map[rules.Decision]int{}
		for i := range randomStates {
			r := randomState(random)
			made[r.Want]++
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				newScene(t, sh, nil, "", r).play()
			})
		}
		t.Log(made)
		for _, d := range []rules.Decision{rules.Wait, rules.Never, rules.Resume, rules.Found, rules.Join, rules.SetAside} {
			if made[d] < randomStates/100 {
				t.Errorf("only %d states to %s", made[d], d)
			}
		}
	}, "static")
}

// randomState returns a case whose name is its line of starts.txt, and in which the script
// has more than two rounds: peers name others. Most peers give the list of one cluster, and
// some one that differs in a member.
func randomState(random *rand.Rand) row {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	names := strings.Split("a b d e f", " ")[:1+random.IntN(5)]
	member := func(name string) string {
		return one(name+"!", name+"!", name+"!", name+"!", name+"!", name+"!", name, "("+name+"!)", "")
	}
	formed, silent := random.IntN(4) > 0, random.IntN(8) == 0
	var truth []string
	for _, name := range names {
		if !formed {
			truth = append(truth, name)
		} else if word := member(name); word != "" {
			truth = append(truth, word)
		}
	}
	truth = append(truth, one("c", "c", "c!", "(c)", "(c)", "(c2)", "(c2)", "(c2)", "c2", "c2!", ""))
	machine := one("", "", "data", "data", "data initial window", "initial", "initial", "initial window", "initial window") + one("", "", "", "", " mark") + " peers="
	var answers []string
	for _, name := range names {
		if random.IntN(3) > 0 {
			machine += name + " "
		}
		list := slices.Clone(truth)
		switch random.IntN(16) {
		case 0:
			list[random.IntN(len(list))] = one("g!", "")
			list[len(list)-1] = one(list[len(list)-1], "c", "c!", "(c)", "(c2)")
		case 1:
			list = []string{"-"}
		case 2:
			continue
		case 3:
			list = append(list, one("", "", "", "@2"))
		}
		if !silent {
			answers = append(answers, name+": "+strings.Join(list, " "))
		}
	}
	name := machine + " | " + strings.Join(answers, "; ")
	s := rules.Parse("|" + name)
	// Who is neither known nor named is not asked.
	told := slices.Clone(s.Peers)
	for _, peer := range s.Peers {
		for _, m := range s.Answers[peer].Members {
			told = append(told, m.PeerURL)
		}
	}
	maps.DeleteFunc(s.Answers, func(url string, _ rules.Answer) bool { return !slices.Contains(told, url) })
	_, s.Before = s.Decide()
	r := rowOf("|TEST_STEP=20 " + name)
	r.Name = name
	r.Want, _ = s.Decide()
	return r
}
