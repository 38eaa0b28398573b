// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// shorten returns the shortest sequence that it finds and that still fails. It
// omits half of the steps, then a quarter, and so on down to single steps, and then
// the second nodes of the remaining steps. It calls fails at most limit times.
func shorten(s sequence, limit int, fails func(sequence) bool) sequence {
	ask := func(shorter sequence) bool {
		if limit == 0 {
			return false
		}
		limit--
		return fails(shorter)
	}
	for size := (len(s.steps) + 1) / 2; size > 0; {
		left := false
		for from := 0; from < len(s.steps); {
			shorter := s
			shorter.steps = slices.Delete(slices.Clone(s.steps), from, min(from+size, len(s.steps)))
			if len(shorter.steps) > 0 && ask(shorter) {
				s, left = shorter, true
				continue
			}
			from += size
		}
		if size == 1 && !left {
			break
		}
		size = max(1, min(size/2, (len(s.steps)+1)/2))
	}
	for i, was := range s.steps {
		if was.also == 0 {
			continue
		}
		simpler := s
		simpler.steps = slices.Clone(s.steps)
		simpler.steps[i].also = 0
		if ask(simpler) {
			s = simpler
		}
	}
	return s
}

// All needed steps remain, in order, the others are removed, and the number of
// replays is limited.
func TestCommandShrink(t *testing.T) {
	t.Parallel()
	var long sequence
	for n := range 10 {
		long.steps = append(long.steps, deed{kind: fmt.Sprint(n), also: n})
	}
	long.world = world{flat, 3, etcdtest.V36}
	for _, needed := range [][]int{{0}, {9}, {4}, {2, 7}, {0, 5, 9}, {3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		replays := 0
		got := shorten(long, 100, func(s sequence) bool {
			replays++
			for _, n := range needed {
				if !slices.ContainsFunc(s.steps, func(s deed) bool { return s.kind == fmt.Sprint(n) }) {
					return false
				}
			}
			return slices.IndexFunc(s.steps, func(s deed) bool { return s.kind == "7" && s.also == 0 }) < 0
		})
		want := sequence{world: long.world}
		for _, n := range needed {
			s := deed{kind: fmt.Sprint(n)}
			if n == 7 {
				s.also = 7
			}
			want.steps = append(want.steps, s)
		}
		if got.String() != want.String() || replays > 100 {
			t.Errorf("%v: %d replays lead to\n%s", needed, replays, got)
		}
	}
	replays := 0
	shorten(long, 5, func(sequence) bool { replays++; return true })
	if replays > 5 {
		t.Errorf("%d replays, and 5 were allowed", replays)
	}
}
