// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// soakSeed is the seed without SOAK_SEED: a test that decides whether a change may land
// does the same each time.
const soakSeed = 33

// TestAccSoak types random commands, with edits and faults of machines in between, on one
// cluster after another. Every command may fail. After each sequence plain applies must
// lead to an empty plan. On the way no write is lost, writes never stop, no two voters are
// on their way, and a member that Terraform does not manage stays as it is.
//
// SOAK is the duration, 3m with ETCD_TEST_FULL=1. Without either it is skipped. SOAK_SEED
// selects the sequences ("random" for a new seed), SOAK_ONLY runs only one of them, and
// SOAK_PARALLEL (2) is the number of sequences at a time.
func TestAccSoak(t *testing.T) {
	if os.Getenv("SOAK") == "" && !etcdtest.Full() {
		t.Skip("a soak takes minutes: set SOAK=3m or ETCD_TEST_FULL=1")
	}
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "3m"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	seed := soakNumber(t, "SOAK_SEED", soakSeed)
	only, parallel := soakNumber(t, "SOAK_ONLY", 0), soakNumber(t, "SOAK_PARALLEL", 2)
	begin := time.Now()
	var mu sync.Mutex
	next := max(only, 1)
	take := func() (n uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		n, next = next, next+1
		return n, time.Since(begin) < limit && (only == 0 || n == only)
	}
	t.Run("sequences", func(t *testing.T) {
		for worker := range parallel {
			t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
				t.Parallel()
				for {
					n, ok := take()
					if !ok {
						return
					}
					t.Run(fmt.Sprintf("seed %d sequence %d", seed, n), func(t *testing.T) { soakSequence(t, seed, n) })
				}
			})
		}
	})
	t.Logf("SOAK_SEED=%d for %v", seed, time.Since(begin).Round(time.Second))
}

// soakNumber reads a variable.
func soakNumber(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	value := os.Getenv(name)
	if value == "random" {
		return uint64(time.Now().UnixNano() % 1_000_000)
	}
	n, err := strconv.ParseUint(cmp.Or(value, fmt.Sprint(otherwise)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// soak is one sequence on one cluster.
type soak struct {
	*Fleet
	t        *testing.T
	random   *rand.Rand
	releases []string
	watch    *voterWatch
	// strange is the node of a living voter, x, that neither the configuration nor the
	// state has, or nil.
	strange *Node
	images  int
}

// soakSteps is how many commands a sequence has before it must come to rest.
const soakSteps = 8

func soakSequence(t *testing.T, seed, n uint64) {
	s := &soak{t: t, random: rand.New(rand.NewPCG(seed, n)), Fleet: NewFleet(t, FleetOptions{Version: etcdtest.V35})}
	s.releases = s.Releases(etcdtest.V35, etcdtest.V36)
	s.Release = s.releases[0]
	if n%2 == 0 {
		s.Add("x")
	}
	s.Form()
	names := s.names()
	before, pids := s.MemberIDs(), s.PIDs(names...)
	client := s.Client()
	if s.strange = s.Nodes["x"]; s.strange != nil {
		s.Run("state", "rm", member("x"), machine("x")).MustSucceed()
		s.Drop("x")
		s.Apply().MustSucceed()
	}
	s.watch = watchVoters(t, client, s.names()...)
	writer := s.Writer(s.names()...)
	for i := range soakSteps {
		did := s.step()
		t.Logf("%d: %s", i+1, did)
		if t.Failed() {
			return
		}
	}
	s.rest()
	s.watch.end()
	s.MustNotPause(writer, 2*Pause, s.names()...)
	if s.strange != nil && (s.MemberIDs()["x"] != before["x"] || s.PID("x", "etcd.pid") != pids["x"]) {
		t.Errorf("x was %x and is %x", before["x"], s.MemberIDs()["x"])
	}
}

// step edits, disturbs a machine, and runs a command. It returns what it did.
func (s *soak) step() string {
	edit := s.edit()
	for _, n := range s.Nodes {
		n.Create = "25s" // how long a member waits for a machine that does not come up
	}
	s.watch.want(s.names()...)
	fault := s.fault()
	return edit + fault + s.command()
}

// edit changes the configuration, or nothing.
func (s *soak) edit() string {
	names := s.names()
	name := names[s.random.IntN(len(names))]
	switch s.random.IntN(9) {
	case 0:
		for _, added := range []string{"d", "e", "f"} {
			if s.Nodes[added] == nil {
				s.Add(added)
				return "add " + added + ", "
			}
		}
	case 1:
		if len(names) > 3 {
			s.Drop(name)
			return "remove " + name + ", "
		}
	case 2, 3:
		s.images++
		s.Image = fmt.Sprint("image ", s.images)
		return s.Image + ", "
	case 4:
		s.Image = "broken"
		return "an image that does not boot, "
	case 5:
		s.Release = s.releases[1]
		return "version " + s.Release + ", "
	case 6:
		s.Rebuild = map[string]string{name: fmt.Sprint(s.random.IntN(100))}
		return "rebuild " + name + ", "
	case 7:
		s.After = []string{"", "2s"}[s.random.IntN(2)]
		return fmt.Sprintf("replace_unreachable_after = %q, ", s.After)
	}
	return ""
}

// fault disturbs a machine if all members vote and run, so that a quorum that is lost is
// not lost by the test.
func (s *soak) fault() string {
	kind, name := s.random.IntN(8), s.names()[s.random.IntN(len(s.Nodes))]
	if kind > 3 || !s.whole() {
		return ""
	}
	switch kind {
	case 0:
		s.Crash(name)
		return "machine " + name + " stops, "
	case 1:
		s.wipe(name)
		return "machine " + name + " loses its disk, "
	case 2:
		s.Lose(name)
		return "machine " + name + " is gone, "
	default:
		s.vanish(name)
		return "machine " + name + " is gone from the state, "
	}
}

// whole reports whether exactly the nodes and the stranger are voters, and all run.
func (s *soak) whole() bool {
	want := s.names()
	if s.strange != nil {
		want = append(want, "x")
	}
	if !slices.Equal(Summary(s.Members()), want) {
		return false
	}
	running := map[int]bool{}
	for _, p := range Processes() {
		running[p.PID] = true
	}
	return !slices.ContainsFunc(want, func(name string) bool { return !running[s.PID(name, "etcd.pid")] })
}

// command runs a command, which may fail.
func (s *soak) command() string {
	names := s.names()
	name, other := names[s.random.IntN(len(names))], names[s.random.IntN(len(names))]
	at := 1 + s.random.IntN(2*replacementSteps)
	switch s.random.IntN(10) {
	case 0:
		target := []string{cluster, machine(name), member(name)}[s.random.IntN(3)]
		return s.ran(s.Apply("-target=" + target))
	case 1:
		return s.ran(s.Apply("-replace=" + machine(name)))
	case 2:
		return s.ran(s.Apply("-replace="+machine(name), "-replace="+machine(other)))
	case 3:
		return s.ran(s.Apply("-replace=" + member(name)))
	case 4:
		return s.ran(s.Apply("-refresh=false"))
	case 5:
		s.killAt(at)
		return fmt.Sprintf("apply, killed at step %d", at)
	case 6:
		run := s.Start("apply")
		etcdtest.Eventually(s.t, "the run is under way", func() error {
			if run.Steps() < at && !run.Ended() {
				return fmt.Errorf("%d steps", run.Steps())
			}
			return nil
		})
		run.Interrupt()
		return "interrupted at " + fmt.Sprint(at) + ": " + s.ran(run.Wait())
	case 7:
		p := s.Plan()
		s.ran(s.Apply())
		return "a plan, an apply, and the plan: " + s.ran(s.Run("apply", "-json", "-input=false", p.File))
	case 8:
		run := s.Start("apply")
		looks := s.Run("plan", "-json", "-input=false", "-lock=false")
		return s.ran(run.Wait()) + " beside a plan with " + fmt.Sprint(looks.ExitCode)
	default:
		return s.ran(s.Apply())
	}
}

// ran describes a command.
func (s *soak) ran(o *Outcome) string {
	text := fmt.Sprintf("%v: %d", o.Args[min(len(o.Args), 3):], o.ExitCode)
	for _, e := range o.Errors() {
		text += ", " + e.Summary
	}
	return text
}

// rest ends the sequence: what is broken gets another value, what is down is replaced,
// and plain applies lead to an empty plan.
func (s *soak) rest() {
	s.t.Helper()
	if s.Image == "broken" {
		s.Image = "mended"
	}
	s.After = "1s"
	s.watch.want(s.names()...)
	for applies := 0; ; applies++ {
		p := s.Plan()
		if p.ExitCode == 0 {
			s.t.Logf("empty after %d applies", applies)
			break
		}
		if applies > 2*len(s.Nodes)+4 {
			s.t.Fatalf("after %d applies: %v\n%s", applies, p.Actions(), p.Report())
		}
		s.t.Log(s.ran(s.Apply()))
	}
	if s.strange != nil {
		s.Nodes["x"] = s.strange
	}
	s.MustVote(s.names()...)
}
