// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// commandSeed is the seed where SOAK_SEED says nothing, and shortSequences how
// many of its sequences are run where SOAK says nothing: a test that decides
// whether a change may land does the same each time.
const (
	commandSeed    = 20
	shortSequences = 4
)

// atOnce is how many sequences run at the same time: their commands mostly
// wait.
const atOnce = 2

// replays is how often a sequence that has failed is run again to make it
// shorter.
const replays = 24

// campaign runs sequences, and keeps count.
type campaign struct {
	tb       testing.TB
	seed     uint64
	provider string
	// more reports whether another sequence is to be begun.
	more func(n int) bool

	mu        sync.Mutex
	next      int
	sequences int
	commands  int
	kinds     map[string]int
	// failed is the first sequence that came to a violation, and which.
	failed sequence
	found  []violation
}

// TestAccCommandSoak types commands at random, and lets things happen to
// machines in between, on one cluster after another. After each sequence a
// plain apply, or what the refusals say, must lead to an empty plan; and no rule
// may have been broken on the way. See the checks of [actor].
//
// SOAK is how long; without it a few sequences are run. SOAK_SEED says which
// sequences ("random" for a new seed), SOAK_ONLY that only this one of them is
// run.
func TestAccCommandSoak(t *testing.T) {
	t.Parallel()
	limit, seed := soakSettings(t)
	c := &campaign{tb: t, seed: seed, kinds: map[string]int{}}
	begin := time.Now()
	only, err := strconv.Atoi(os.Getenv("SOAK_ONLY"))
	switch {
	case err == nil:
		c.next = only
		c.more = func(n int) bool { return n == only }
	case os.Getenv("SOAK") == "":
		c.more = func(n int) bool { return n < shortSequences }
	default:
		c.more = func(int) bool { return time.Since(begin) < limit }
	}
	if os.Getenv("SOAK_SEED") == "" {
		c.seed = commandSeed
	}
	t.Logf("SOAK=%v SOAK_SEED=%d", limit, c.seed)
	c.run(atOnce)
	t.Logf("command soak of %v, seed %d: %d sequences, %d commands, %d kinds of steps: %s",
		time.Since(begin).Round(time.Second), c.seed, c.sequences, c.commands, len(c.kinds), tally(c.kinds))
	if c.found != nil {
		c.report()
	}
}

// run runs sequences until there are no more, or one fails.
func (c *campaign) run(atOnce int) {
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for n, ok := c.take(); ok; n, ok = c.take() {
				s := newSequence(c.seed, n)
				begin := time.Now()
				found, log := c.attempt(s)
				c.tb.Logf("sequence %d of seed %d: %v, %v", n, c.seed, time.Since(begin).Round(time.Second), classes(found))
				if found != nil {
					c.mu.Lock()
					if c.found == nil {
						c.failed, c.found = s, found
						c.tb.Logf("sequence %d of seed %d fails:\n%s\n%s", n, c.seed, s, strings.Join(log, "\n"))
					}
					c.mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

func (c *campaign) take() (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.next
	if c.found != nil || !c.more(n) {
		return 0, false
	}
	c.next++
	return n, true
}

// attempt runs one sequence.
func (c *campaign) attempt(s sequence) ([]violation, []string) {
	a := &actor{}
	found, log := try(c.tb, func(tr *trial) { a.act(tr, s, c.provider) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sequences++
	c.commands += a.runs
	for kind, n := range a.done {
		c.kinds[kind] += n
	}
	return found, log
}

// report makes the sequence that has failed shorter, and fails the test with
// it.
func (c *campaign) report() {
	class := c.found[0].class
	short := shorten(c.failed, replays, func(s sequence) bool {
		found, _ := c.attempt(s)
		c.tb.Logf("%v: replay of %d steps", classes(found), len(s.steps))
		return slices.ContainsFunc(found, func(v violation) bool { return v.class == class })
	})
	c.tb.Errorf("%s: %s\n\nThe shortest sequence that comes to it, for the table of regressions:\n\n%s", class, c.found[0].text, short)
}

func classes(found []violation) []string {
	seen := map[string]bool{}
	for _, v := range found {
		seen[v.class] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// regressions are sequences that have come to a violation once, made as short
// as they go.
var regressions = []sequence{}

// What was found once is not found again. (All of it with ETCD_TEST_FULL=1,
// otherwise the first ones.)
func TestAccCommandRegressions(t *testing.T) {
	t.Parallel()
	tried := regressions
	if !full() {
		tried = tried[:min(len(tried), 3)]
	}
	for n, s := range tried {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := &campaign{tb: t, kinds: map[string]int{}}
			if found, log := c.attempt(s); found != nil {
				t.Errorf("%s: %s\n%s\n%s", found[0].class, found[0].text, s, strings.Join(log, "\n"))
			}
		})
	}
}
