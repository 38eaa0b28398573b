// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// commandSeed is the seed without SOAK_SEED, and shortSequences the number of
// its sequences that run without SOAK: a test that decides whether a change may
// land does the same each time.
const (
	commandSeed    = 20
	shortSequences = 2
)

// atOnce is the number of concurrent sequences without SOAK_PARALLEL: their
// commands mostly wait.
const atOnce = 2

func parallelSequences() int {
	if n, err := strconv.Atoi(os.Getenv("SOAK_PARALLEL")); err == nil && n > 0 {
		return n
	}
	return atOnce
}

// replays is how often a failed sequence is run again to make it shorter,
// without SOAK_REPLAYS.
const replays = 24

// campaign runs sequences and counts the results.
type campaign struct {
	tb       testing.TB
	seed     uint64
	provider string
	// more reports whether to start another sequence. Only one goroutine at a
	// time calls it.
	more func(n int) bool

	mu        sync.Mutex
	next      int
	sequences int
	commands  int
	kinds     map[string]int
	failures  []failure
}

// failure is a sequence that led to a violation.
type failure struct {
	number int
	sequence
	found []violation
}

// TestAccCommandSoak runs random commands, with events on machines in between,
// on one cluster after another. After each sequence a plain apply, or the
// advice of the refusals, must lead to an empty plan, and no rule may have been
// broken on the way. See the checks of [actor].
//
// SOAK is the duration; without it a few sequences run with ETCD_TEST_FULL=1,
// and otherwise none. SOAK_SEED selects the sequences ("random" for a new seed),
// SOAK_ONLY runs only one of them, SOAK_PARALLEL is the number of concurrent
// sequences, and SOAK_REPLAYS the maximum number of repetitions to make a failed
// sequence shorter.
func TestAccCommandSoak(t *testing.T) {
	if os.Getenv("SOAK_ONLY") == "" {
		acctest.NeedSoak(t)
	}
	t.Parallel()
	limit, seed := acctest.SoakSettings(t)
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
		time.Since(begin).Round(time.Second), c.seed, c.sequences, c.commands, len(c.kinds), acctest.Tally(c.kinds))
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

// report fails the test with the failures, and shortens one sequence of each
// class of violations.
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

// regressions are sequences that once led to a violation, shortened as far as
// possible.
var regressions = []sequence{
	// A configuration whose peer URL belongs to another member was refused,
	// with the advice to import that other member.
	{world{moduleEach, 3, "3.7"}, []deed{
		{kind: "state rm", who: 2, also: 1, part: "etcd_member_config"},
		{kind: "swap addresses"},
	}},
	// A plan removed the member of c through one resource and kept another
	// resource for it in the state. After that no printed command helped: the
	// next create was treated as the second half of a replacement.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "recount with moved", who: 3},
		{kind: "import", who: 2, part: "etcd_member"},
	}},
	// A configuration and its member were dropped from the state, and no
	// command helped, because the error of the apply had no command.
	{world{flat, 3, "3.5"}, []deed{
		{kind: "machine wiped"},
		{kind: "state rm of config and member"},
	}},
	// The edit that restored machine_id replaced a machine alone.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "drop machine_id"},
		{kind: "apply"},
		{kind: "give machine_id with another image", who: 1},
		{kind: "apply"},
	}},
	// Two machines would be replaced alone, and each refusal named a command
	// that the other machine blocked.
	{world{flat, 3, "3.7"}, []deed{
		{kind: "taint", also: 1, part: "terraform_data.machine"},
	}},
	// The record of a removed member outlived its configuration, which had been
	// dropped from the state, and its successor.
	{world{counted, 3, "3.6"}, []deed{
		{kind: "destroy target", who: 1, part: "etcd_member"},
		{kind: "state rm of config and member", who: 1},
	}},
	// A replacement was killed after its configuration was destroyed and before the
	// state recorded this: the next create of the member gave advice that did not help.
	{world{flat, 5, "3.5"}, []deed{
		{kind: "apply"},
		{kind: "kill", who: 3, ms: 3461, part: "etcd_member_config"},
	}},
	// Two machines whose members were dropped from the state would be replaced
	// alone, and each refusal named a replacement that the other machine blocked.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "state rm", also: 1, part: "etcd_member"},
		{kind: "taint", also: 1, part: "terraform_data.machine"},
	}},
	// Nothing kept a tainted machine while another member had failed, and the
	// machine blocked the replacement of that member.
	{world{flat, 3, "3.5"}, []deed{
		{kind: "taint", who: 2, part: "terraform_data.machine"},
		{kind: "machine wiped"},
	}},
	// Nothing kept a tainted machine of one of two voters, which could not be replaced.
	{world{moduleEach, 2, "3.6"}, []deed{
		{kind: "taint", part: "terraform_data.machine"},
	}},
	// A tainted member had a new address, and the refusal named only this
	// address for untaint, which the CLI did not know yet.
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
	// Two members were removed alone, and each refusal named a replacement that
	// the other one blocked.
	{world{flat, 3, "3.6"}, []deed{
		{kind: "destroy target", part: "etcd_member"},
		{kind: "destroy target", who: 1, part: "etcd_member"},
	}},
	// One run replaced a configuration while another one created its previous
	// member again, which adopted the new one.
	{world{flat, 5, "3.5"}, []deed{
		{kind: "state rm", who: 4, part: "etcd_member"},
		{kind: "two runs", who: 4},
	}},
	// Two nodes exchanged their keys, which moved blocks cannot express.
	{world{counted, 3, "3.5"}, []deed{
		{kind: "rename", who: 4},
		{kind: "drop machine_id", who: 4},
		{kind: "state rm of config and member", who: 4, also: 1},
	}},
}

// Earlier violations do not occur again. (All of them with ETCD_TEST_FULL=1,
// otherwise the first ones.)
func TestAccCommandRegressions(t *testing.T) {
	t.Parallel()
	tried := regressions
	if !etcdtest.Full() {
		tried = tried[:min(len(tried), 2)]
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
