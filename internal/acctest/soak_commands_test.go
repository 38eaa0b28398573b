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
	shortSequences = 2
)

// atOnce is how many sequences run at the same time where SOAK_PARALLEL says
// nothing: their commands mostly wait.
const atOnce = 2

func parallelSequences() int {
	if n, err := strconv.Atoi(os.Getenv("SOAK_PARALLEL")); err == nil && n > 0 {
		return n
	}
	return atOnce
}

// replays is how often a sequence that has failed is run again to make it
// shorter, where SOAK_REPLAYS says nothing.
const replays = 24

// campaign runs sequences, and keeps count.
type campaign struct {
	tb       testing.TB
	seed     uint64
	provider string
	// more reports whether another sequence is to be begun; it is asked by one
	// goroutine at a time.
	more func(n int) bool

	mu        sync.Mutex
	next      int
	sequences int
	commands  int
	kinds     map[string]int
	failures  []failure
}

// failure is a sequence that came to a violation.
type failure struct {
	number int
	sequence
	found []violation
}

// TestAccCommandSoak types commands at random, and lets things happen to
// machines in between, on one cluster after another. After each sequence a
// plain apply, or what the refusals say, must lead to an empty plan; and no rule
// may have been broken on the way. See the checks of [actor].
//
// SOAK is how long; without it a few sequences are run. SOAK_SEED says which
// sequences ("random" for a new seed), SOAK_ONLY that only this one of them is
// run, SOAK_PARALLEL how many run at a time, and SOAK_REPLAYS how often one that has failed is run again, at most, to
// make it shorter.
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
	t.Logf("SOAK=%s SOAK_SEED=%d", os.Getenv("SOAK"), c.seed)
	c.run(parallelSequences())
	t.Logf("command soak of %v, seed %d: %d sequences, %d commands, %d kinds of steps: %s",
		time.Since(begin).Round(time.Second), c.seed, c.sequences, c.commands, len(c.kinds), tally(c.kinds))
	c.report()
}

// run runs sequences until there are no more.
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
					c.tb.Logf("%s: %s\n%s\n%s", found[0].class, found[0].text, s, strings.Join(log, "\n"))
					c.mu.Lock()
					c.failures = append(c.failures, failure{n, s, found})
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
	if !c.more(n) {
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

// report fails the test with what was found, and makes one sequence of each
// class of violations shorter.
func (c *campaign) report() {
	shown, limit := map[string]bool{}, replays
	if n, err := strconv.Atoi(os.Getenv("SOAK_REPLAYS")); err == nil {
		limit = n
	}
	for _, f := range c.failures {
		class := f.found[0].class
		c.tb.Errorf("sequence %d of seed %d: %s: %s\n%s", f.number, c.seed, class, f.found[0].text, f.sequence)
		if shown[class] {
			continue
		}
		shown[class] = true
		short := shorten(f.sequence, limit, func(s sequence) bool {
			found, _ := c.attempt(s)
			c.tb.Logf("replay of %d steps: %v", len(s.steps), classes(found))
			return slices.ContainsFunc(found, func(v violation) bool { return v.class == class })
		})
		c.tb.Errorf("the shortest sequence that comes to %q, for the table of regressions:\n%s", class, short)
	}
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
var regressions = []sequence{
	// The refusal of a configuration whose peer URL another member has named that
	// member to be imported.
	{world{moduleEach, 3, "3.7"}, []deed{
		{kind: "state rm", who: 2, also: 1, part: "etcd_member_config"},
		{kind: "swap addresses"},
	}},
	// A plan removed the member of c with one resource, and kept another one for it
	// in the state. After that nothing that was printed led on: the next create was
	// taken for the second half of a replacement.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "recount with moved", who: 3},
		{kind: "import", who: 2, part: "etcd_member"},
	}},
	// A configuration was lost with the member that it was for: nothing led on, because
	// the error of the apply had no command.
	{world{flat, 3, "3.5"}, []deed{
		{kind: "machine wiped"},
		{kind: "state rm of config and member"},
	}},
	// A machine was replaced alone by the edit that wrote machine_id again.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "drop machine_id"},
		{kind: "apply"},
		{kind: "give machine_id with another image", who: 1},
		{kind: "apply"},
	}},
	// Of two machines that would be replaced alone each refusal named a command that
	// the other one stood in the way of.
	{world{flat, 3, "3.7"}, []deed{
		{kind: "taint", also: 1, part: "terraform_data.machine"},
	}},
	// The record of a removed member outlived its configuration, which had left the
	// state without a word, and its successor.
	{world{counted, 3, "3.6"}, []deed{
		{kind: "destroy target", who: 1, part: "etcd_member"},
		{kind: "state rm of config and member", who: 1},
	}},
	// A replacement was killed after its configuration was destroyed, and before the state
	// said so: the member's next creation advised what does not lead on.
	{world{flat, 5, "3.5"}, []deed{
		{kind: "apply"},
		{kind: "kill", who: 3, ms: 3461, part: "etcd_member_config"},
	}},
	// Of two machines that would be replaced alone, whose members the state had lost,
	// each refusal named the replacement that the other one stood in the way of.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "state rm", also: 1, part: "etcd_member"},
		{kind: "taint", also: 1, part: "terraform_data.machine"},
	}},
	// Nothing kept a tainted machine while another member had failed, which was not
	// replaced because of that machine.
	{world{flat, 3, "3.5"}, []deed{
		{kind: "taint", who: 2, part: "terraform_data.machine"},
		{kind: "machine wiped"},
	}},
	// Nothing kept a tainted machine of one of two voters, which could not be replaced.
	{world{moduleEach, 2, "3.6"}, []deed{
		{kind: "taint", part: "terraform_data.machine"},
	}},
	// A tainted member had another address by now, and the refusal named only that one
	// to untaint, which the CLI did not know yet.
	{world{flat, 3, "3.5"}, []deed{
		{kind: "taint", who: 2, part: "etcd_member"},
		{kind: "state mv", who: 2},
		{kind: "undo"},
	}},
	// The machine of one of two voters was replaced without its member.
	{world{flat, 2, "3.6"}, []deed{
		{kind: "trigger", who: 1},
		{kind: "target", who: 1, part: "terraform_data.machine"},
	}},
	// Two members were removed alone, and each refusal named the replacement that the
	// other one stood in the way of.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "destroy target", part: "etcd_member"},
		{kind: "destroy target", who: 1, part: "etcd_member"},
	}},
	// A configuration was replaced by one run while another one created its former
	// member again, which adopted the new one.
	{world{flat, 5, "3.5"}, []deed{
		{kind: "state rm", who: 4, part: "etcd_member"},
		{kind: "two runs", who: 4},
	}},
	// Two nodes exchanged their keys, and a moved block cannot say so.
	{world{counted, 3, "3.5"}, []deed{
		{kind: "rename", who: 4},
		{kind: "drop machine_id", who: 4},
		{kind: "state rm of config and member", who: 4, also: 1},
	}},
}

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
