// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// one picks an element.
func one[T any](s *runner, of ...T) T { return of[s.random.IntN(len(of))] }

// chance is true once in n times.
func (s *runner) chance(n int) bool { return s.random.IntN(n) == 0 }

// beginning runs the first steps. Left out until the texts lead on from there: a backend that persists
// late ("late-backend"), whose state lacks machines of today, and create_before_destroy.
func (s *runner) beginning() {
	if s.chance(4) {
		s.do("parallelism 1")
	}
	if s.chance(2) {
		s.do("latency 20ms")
	}
	if s.chance(2) {
		s.do("replace-after 10m")
	}
	if s.chance(3) {
		s.do("version 3.6.16")
	}
	s.do("form " + strings.Join(strings.Split("abcde"[:one(s, 3, 3, 3, 4, 5)], ""), " "))
	s.do(fmt.Sprintf("wait %dm", 1+s.random.IntN(40)))
}

// choose runs steps up to the next command. What takes a node away for good happens to a
// healthy cluster only.
func (s *runner) choose() {
	if s.chance(8) {
		one(s, sequences...)(s)
		return
	}
	edit := s.chooseEdit()
	switch {
	case strings.HasPrefix(edit, "add ") && s.chance(4):
		s.do(strings.Replace(edit, "add ", "etcdctl member add ", 1))
		fallthrough
	case edit != "":
		s.do(edit)
	}
	if s.chance(6) {
		if s.second.image != "" && s.chance(3) {
			s.do("restart-g")
		} else {
			s.do(s.chooseLoss())
		}
	}
	s.chooseFault()
	opts := s.chooseState()
	if s.chance(4) {
		opts += " " + s.chooseState()
	}
	s.do(s.chooseCommand() + " " + opts)
	s.do("wait " + one(s, "1s", "30s", "3m", "20m"))
}

// chooseState changes the state, or chooses options.
func (s *runner) chooseState() (opts string) {
	name := one(s, s.dir.names...)
	of := func(short string) string { return short + "[" + name + "]" }
	switch s.random.IntN(15) {
	case 0, 1:
		opts = "-replace=" + of("machine")
	case 2:
		opts = "-replace=" + of("member")
	case 3:
		opts = "-replace=" + of("machine") + " -replace=machine[" + s.next(name) + "]"
	case 4:
		s.do("taint " + of("machine"))
	case 5:
		s.do("taint " + of("member"))
		s.do("taint member[" + s.next(name) + "]")
	case 6:
		s.do("taint cluster")
	case 7:
		s.do("forget " + of("member"))
		if again := one(s, "", "", "import ", "imports "); again != "" {
			s.do(again + of("member") + " " + name)
		}
	case 10:
		s.do(one(s, "persist", "older"))
	case 11:
		if len(s.dir.learners) > 0 {
			s.do("etcdctl member promote " + one(s, slices.Sorted(maps.Keys(s.dir.learners))...))
		}
	case 8, 9:
		opts = "-target=" + one(s, "cluster", of("machine"), of("member"))
	}
	if s.chance(5) {
		opts += " -refresh=false"
	}
	return strings.TrimSpace(opts)
}

// chooseCommand chooses the command, without options.
func (s *runner) chooseCommand() string {
	if s.second.backup.day > 0 && s.chance(4) {
		return "beside two"
	}
	switch s.random.IntN(20) {
	case 0, 1:
		return "saved " + one(s, "1s", "3m", "20m", "48h")
	case 2, 3:
		return "beside two"
	case 4:
		return "plan"
	case 5:
		return "refresh"
	}
	return "apply"
}

func (s *runner) chooseEdit() string {
	switch s.random.IntN(15) {
	case 0, 1, 2:
		return "image " + fmt.Sprint(s.random.IntN(4))
	case 3, 4:
		if name := s.unused(); name != "" {
			return one(s, "add ", "add ", "learner ") + name
		}
	case 5:
		if len(s.dir.names) > one(s, 1, 2, 3, 3) {
			return "drop " + one(s, s.dir.names...)
		}
	case 6:
		return "rebuild " + one(s, s.dir.names...)
	case 7:
		return "member-g " + one(s, "1", "2", "none")
	case 8:
		if s.dir.version != "" {
			return "version " + one(s, "3.6.16", "3.6.17")
		}
	case 9:
		return "address " + one(s, s.dir.names...)
	case 10:
		for _, name := range s.dir.names {
			if s.dir.learners[name] {
				return "promote " + name
			}
		}
	case 11:
		return "replace-after " + one(s, "10m", "none")
	case 12:
		if s.second.image != "" {
			return "url-g " + one(s, "2380", "3380")
		}
	case 13:
		s.do("backup")
		return one(s, "", "during stranger")
	case 14:
		return "machine-id " + one(s, s.dir.names...) + " " + one(s, s.dir.names...)
	}
	return ""
}

// chooseLoss is a node that is lost until the operator acts.
func (s *runner) chooseLoss() string {
	return one(s, "lose ", "wipe ", "blank ", "etcdctl member remove ", "stop ") + one(s, s.dir.names...)
}

func (s *runner) chooseFault() {
	at := 1 + s.random.IntN(40*(1+s.random.IntN(4)))
	switch s.random.IntN(16) {
	case 0, 1:
		s.do(fmt.Sprintf("at %d kill", at))
	case 2:
		s.do(fmt.Sprintf("at %d freeze", at))
	case 3:
		s.do(fmt.Sprintf("at %d lose", 1+s.random.IntN(12)))
	case 4:
		s.do(fmt.Sprintf("at %d interrupt", at))
	case 5, 6, 7:
		s.do(fmt.Sprintf("at %d %s", at, s.chooseFailure()))
	case 8, 9, 10:
		s.do("between " + one(s, s.chooseLoss(), s.chooseFailure()))
	case 11:
		s.do("never-boots")
	case 12:
		s.do("during " + one(s, "silence", "silence", "stranger", "wrong-ca"))
		if s.chance(3) {
			s.do("between hear")
		}
	case 13, 14:
		s.do("at lock " + one(s, "kill", "interrupt", s.chooseFailure(), s.chooseFailure()))
	case 15:
		s.do("provisioner-fails " + one(s, "machine[", "machine[", "member[") + one(s, s.dir.names...) + "]")
	}
}

// chooseFailure is a node that fails for a time.
func (s *runner) chooseFailure() string {
	return fmt.Sprintf("%s %s %ds", one(s, "off", "off", "stuck", "split", "hidden", "other"), one(s, s.dir.names...),
		1<<s.random.IntN(12))
}

// search runs steps that a seed chooses.
func (s *runner) search(seed uint64) {
	s.random = rand.New(rand.NewPCG(seed, 2))
	when, done := s.random.IntN(8), false
	for s.beginning(); s.commands < 14 && !s.over(); {
		if !done && s.commands > when {
			done = true
			sequences[seed%uint64(len(sequences))](s)
			continue
		}
		s.choose()
	}
	for len(s.dir.names) < 3 && !s.over() { // smaller ones do not roll
		s.do("add " + s.unused())
	}
	switch end := s.random.IntN(12); {
	case s.over():
	case end > 9 && s.restoredElsewhere():
	case end == 0:
		s.chooseFault()
		s.do("beside clone " + s.chooseState()) // two states of one cluster
	case end == 1:
		s.chooseFault()
		s.do("destroy")
		s.do("wait 20m")
		fallthrough
	default:
		s.do("converge")
	}
}

// search runs the scenario of a seed. A finding is shortened, and printed as a scenario.
func search(t *testing.T, seed uint64) (log []string, commands int, pairs *coverage) {
	dir, c := t.TempDir(), scenario.Scenario{Name: foundName, Seed: seed, Judged: true}
	found := try(t, seed, "", true, func(w *world) {
		s := newRunner(w)
		s.vars["dir"] = dir
		s.judge()
		defer func() { c.Steps, commands, log, pairs = s.steps, s.commands, w.schedule.Log(), &s.coverage }()
		s.search(seed)
	})
	if len(found) > 0 {
		c, found = shorten(t, c, found)
		t.Errorf("%s\n\n%s", strings.Join(found, "\n"), c)
	}
	return log, commands, pairs
}

// foundName is the name of a scenario that the search prints.
const foundName = "found by the search"

// findings runs a judged scenario, and returns what must not happen.
func findings(t *testing.T, c scenario.Scenario) []string {
	dir := t.TempDir()
	return try(t, c.Seed, "", true, func(w *world) {
		s := newRunner(w)
		s.vars["dir"] = dir
		s.judge()
		for _, step := range c.Steps {
			if s.do(step); s.over() {
				return
			}
		}
	})
}

// shorten leaves out steps as long as there is a finding.
func shorten(t *testing.T, c scenario.Scenario, found []string) (scenario.Scenario, []string) {
	tries := 40
	for size := (len(c.Steps) + 1) / 2; size > 0; size /= 2 {
		for from := len(c.Steps) - size; from >= 0; from -= size {
			less := c
			less.Steps = slices.Delete(slices.Clone(c.Steps), from, from+size)
			if tries--; tries < 0 {
				return c, found
			}
			if !slices.ContainsFunc(less.Steps, func(step string) bool { return strings.HasPrefix(step, "form ") }) {
				continue
			}
			if still := findings(t, less); len(still) > 0 {
				c, found = less, still
			}
		}
	}
	return c, found
}

// TestSearch runs scenarios from seeds.
func TestSearch(t *testing.T) {
	t.Parallel()
	seeds, least := uint64(235), int64(5000)
	if etcdtest.Full() {
		seeds, least = 5000, 100_000
	}
	var commands, run atomic.Int64
	var all coverage
	t.Run("seed", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				_, n, pairs := search(t, seed)
				all.join(pairs)
				commands.Add(int64(n))
				run.Add(1)
			})
		}
	})
	t.Logf("%d commands\n%s", commands.Load(), &all)
	if run.Load() == int64(seeds) && commands.Load() < least { // -run may select some
		t.Errorf("%d commands, want %d", commands.Load(), least)
	}
}

// sequences are steps that belong together: what they need would seldom come about by steps
// that are chosen one by one. Each scenario has one, the next seed the next one.
var sequences = []func(*runner){(*runner).restoreSequence, (*runner).promoteSequence, (*runner).moveSequence,
	(*runner).backupSequence, (*runner).importSequence, (*runner).rollSequence}

// unused is the first name that the configuration does not have, "" without one.
func (s *runner) unused() string {
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if !slices.Contains(s.dir.names, name) {
			return name
		}
	}
	return ""
}

// restoreSequence is a cluster that loses its quorum, or does not, and a restore that ends, is
// killed, or is withdrawn.
func (s *runner) restoreSequence() {
	names := slices.Clone(s.dir.names)
	s.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:one(s, len(names)/2+1, len(names), len(names))]
	if s.chance(4) {
		s.do("during " + one(s, "silence", "stranger", "wrong-ca"))
	} else {
		s.do("outage " + strings.Join(names, " "))
	}
	s.do("restore state " + strings.Join(names, " "))
	switch returns := "start " + strings.Join(names, " "); s.random.IntN(5) {
	case 0:
		s.do("between " + returns)
		s.do("between wait 3m")
	case 1, 2:
		s.do(returns)
		s.do("wait 3m")
		s.do("during wrong-ca")
	}
	for range 1 + s.random.IntN(3) {
		if s.chance(2) {
			s.do(fmt.Sprintf("at %d %s", 1+s.random.IntN(120), one(s, "kill", "interrupt")))
		}
		s.do("apply " + one(s, "", "", "-target=cluster", "-target=machine["+names[0]+"]", "-refresh=false"))
		if s.chance(3) {
			s.do("start " + strings.Join(names, " "))
		}
		s.do("wait " + one(s, "30s", "3m"))
	}
	if s.chance(2) {
		s.do("unset restore")
	}
}

// promoteSequence is a learner that is given a vote while it or a voter is dead, or fails.
func (s *runner) promoteSequence() {
	name := s.unused()
	if name == "" {
		return
	}
	s.do("learner " + name)
	s.do("apply")
	s.do("wait " + one(s, "1s", "3m"))
	fails := one(s, name, one(s, s.dir.names...))
	if s.chance(2) {
		s.do(one(s, "stop ", "lose ", "wipe ") + fails)
	}
	s.do("promote " + name)
	switch failure := one(s, "off ", "split ") + fails + " 600s"; s.random.IntN(3) {
	case 0:
		s.do("between " + failure)
	case 1:
		s.do(fmt.Sprintf("at %d %s", 1+s.random.IntN(80), failure))
	}
	s.do("apply")
	s.do("wait 3m")
}

// moveSequence is a member whose peer URL changes in place, and a change of another one before
// it has started with the new one.
func (s *runner) moveSequence() {
	if s.second.image == "" {
		s.do("member-g 1")
		s.do("in two apply")
		s.do("wait 3m")
	}
	s.do("url-g " + one(s, "2380", "3380"))
	s.do("in two apply")
	if edit := s.chooseEdit(); edit != "" {
		s.do(edit)
	}
	s.do("apply " + one(s, "", "-target=cluster", "-replace=machine["+one(s, s.dir.names...)+"]"))
	s.do("wait " + one(s, "1s", "3m"))
	s.do("restart-g")
}

// rollSequence is a cluster of five, in which a member is lost or on its way while others are to
// be replaced.
func (s *runner) rollSequence() {
	for len(s.dir.names) < 5 {
		s.do("add " + s.unused())
	}
	s.do("apply")
	s.do("wait 3m")
	names := slices.Clone(s.dir.names)
	s.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	s.do("rebuild " + names[0])
	switch s.random.IntN(5) {
	case 0:
		s.do(s.chooseLoss())
	case 1:
		s.do("never-boots")
		s.do("apply")
	case 2: // the removal is decided, and decided again
		s.do("at lock off " + names[1] + "," + names[2] + " 600s")
		s.do("apply")
	default: // after its removal, if all goes well
		s.do(fmt.Sprintf("at %d kill", 30+s.random.IntN(90)))
		s.do("apply")
	}
	s.do("rebuild " + names[1])
	replace := "-replace=machine[" + names[1] + "]"
	s.do("apply " + one(s, "-target=cluster", replace, replace+" -refresh=false"))
	s.do("wait " + one(s, "1s", "3m"))
}

// importSequence is a state that has lost members and gets them back, and what removes or replaces
// several of them right after it.
func (s *runner) importSequence() {
	for len(s.dir.names) < one(s, 3, 4, 5) {
		s.do("add " + s.unused())
	}
	s.do("apply")
	s.do("wait 3m")
	names := slices.Clone(s.dir.names)
	s.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:one(s, 1, 2, len(names)/2+1)]
	for _, name := range names {
		s.do("forget member[" + name + "]")
	}
	for _, name := range names {
		s.do(one(s, "import ", "imports ") + "member[" + name + "] " + name)
	}
	replace := ""
	switch s.random.IntN(4) {
	case 0, 1:
		for _, name := range names {
			s.do("drop " + name)
		}
	case 2:
		s.do("image " + fmt.Sprint(s.random.IntN(4)))
	case 3:
		for _, name := range names {
			replace += " -replace=machine[" + name + "]"
		}
	}
	s.do("apply" + replace + one(s, "", "", " -refresh=false", " -target=cluster", " -target=member["+names[0]+"]"))
	s.do("wait 3m")
}

// restoredElsewhere is a cluster that an operator restores by hand on the machines of one that has
// lost its quorum, and what Terraform does with the state of that one. It returns false if the
// moment does not fit.
func (s *runner) restoredElsewhere() bool {
	names := strings.Join(s.dir.names, " ")
	if s.second.image != "" || len(s.dir.learners) > 0 || s.lost || !s.healthy() {
		return false
	}
	s.do("outage " + names)
	s.do("wait 1m")
	s.do("by-hand " + names)
	s.do("wait 3m")
	for range 1 + s.random.IntN(3) {
		switch s.random.IntN(7) {
		case 0:
			s.do("taint cluster")
		case 1:
			s.do("forget cluster")
		case 2:
			for _, name := range s.dir.names {
				s.do("forget member[" + name + "]")
			}
		case 3, 4, 5:
			s.do("restore state " + names)
		}
		if s.chance(4) {
			s.chooseFault()
		}
		s.do(one(s, "apply ", "apply ", "apply ", "destroy ") +
			one(s, "", "", "-refresh=false", "-target=cluster", "-replace=cluster"))
		s.do("wait 3m")
	}
	return true
}

// backupSequence is a backup of every day, from whatever answers.
func (s *runner) backupSequence() {
	for range 1 + s.random.IntN(3) {
		s.do("backup")
		if s.chance(2) {
			s.do("during " + one(s, "stranger", "wrong-ca", "silence"))
		}
		s.do("in two apply")
	}
}

const seedVariable = "ETCD_TEST_SEED"

// The log of all events of a search is the same in another process, and on another
// number of processors.
func TestSearchIsRepeatable(t *testing.T) {
	t.Parallel()
	seeds := 4
	if etcdtest.Full() {
		seeds = 100
	}
	for seed := range seeds {
		log, _, _ := search(t, uint64(seed))
		want := strings.Join(log, "\n")
		for _, processors := range []string{"1", "8"} {
			got := again(t, seed, processors)
			if got != want {
				t.Errorf("seed %d with %s processors: %s", seed, processors, difference(got, want))
			}
		}
	}
}

// again returns the log of a search in another process.
func again(t *testing.T, seed int, processors string) string {
	t.Helper()
	file := t.TempDir() + "/log"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSearchLog$")
	cmd.Env = append(os.Environ(), seedVariable+"="+strconv.Itoa(seed), "ETCD_TEST_LOG="+file, "GOMAXPROCS="+processors)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	record, err := os.ReadFile(file)
	must.Succeed(t, err)
	return string(record)
}

// TestSearchLog is what [again] runs.
func TestSearchLog(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		t.Skip("it is a part of TestSearchIsRepeatable")
	}
	log, _, _ := search(t, seed)
	must.Succeed(t, os.WriteFile(os.Getenv("ETCD_TEST_LOG"), []byte(strings.Join(log, "\n")), 0o600))
}

func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d of %d\n%s\nwant\n%s", i, len(w), g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
