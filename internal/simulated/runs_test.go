// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// randomScene makes a scene from a seed.
func randomScene(seed uint64) scene {
	random := rand.New(rand.NewPCG(seed, 2))
	voters := "abcde"[:1+random.IntN(5)]
	s := scene{voters: voters, plans: make([]string, 1+random.IntN(2)), latency: time.Duration(random.IntN(2)) * 20 * time.Millisecond}
	gone, replaced := 0, 0
	changed := make([]int, len(s.plans))
	for _, v := range random.Perm(len(voters)) {
		at := random.IntN(len(s.plans) + 1)
		if at == len(s.plans) {
			continue // nobody manages it
		}
		prefix, left := "", len(voters)-gone
		switch action := random.IntN(4); { // as far as no plan refuses it
		case changed[at] > 0 && changed[at] >= (len(voters)-1)/2:
		case action == 0 && left > 1 && (left > 3 || replaced == 0):
			prefix = "-"
			gone++
			changed[at]++
		case action == 1 && left > 2 && !strings.Contains(s.plans[at], "!"):
			prefix = "!"
			replaced++
			changed[at]++
		}
		s.plans[at] += " " + prefix + voters[v:v+1]
	}
	for i, name := range []string{"f", "g"} {
		if at := min(i, len(s.plans)-1); random.IntN(3) > 0 && (changed[at] == 0 || len(voters)-gone-replaced > 2) {
			s.plans[at] += " +" + name
		}
	}
	if len(voters) > 3 && replaced == 0 && random.IntN(3) == 0 {
		v := random.IntN(len(voters))
		s.dead = voters[v : v+1]
	}
	at := func() int { return 1 + random.IntN(60*(1+random.IntN(3))) }
	if random.IntN(4) > 0 {
		all := voters + "fg"
		s.victim = string(all[random.IntN(len(all))])
		s.how = []string{"off", "freeze", "split", "hide"}[random.IntN(4)]
		s.stop = at()
		s.back = time.Duration(1<<random.IntN(7)) * time.Second
	}
	switch random.IntN(4) {
	case 0:
		s.kill = at()
	case 1:
		s.freeze = at()
		s.rude = random.IntN(2) == 0
	}
	if random.IntN(2) == 0 {
		s.lose = 1 + random.IntN(20)
	}
	return s
}

// TestRuns plays scenes from seeds.
func TestRuns(t *testing.T) {
	seeds := 12
	if etcdtest.Full() {
		seeds = 1000
	}
	for seed := range uint64(seeds) {
		s := randomScene(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("%+v", s)
				}
			}()
			s.play(t, seed)
		})
	}
}
