// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// replacementSteps is how many starts and ends of changes a CLI prints for a node that is
// rebuilt: two for each of two deletions, an update and two creations.
const replacementSteps = 10

// An image is rolled under a writer while the CLI is killed at random steps, and plain
// applies finish the roll. There are never two voters on their way, and no write is lost.
// (With ETCD_TEST_FULL=1 a cluster of seven is interrupted more often.)
func TestAccRollIsKilled(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"a b c": 2, "a b c d e": 2, "a b c d e f g": 1}
	if etcdtest.Full() {
		sizes["a b c d e f g"] = 5
	}
	for names, kills := range sizes {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Names: strings.Fields(names)})
			f.Form()
			random := rand.New(rand.NewPCG(uint64(len(names)), 1))
			watch := watchVoters(t, f.Client(), f.names()...)
			writer := f.Writer(50 * time.Millisecond)
			f.Image = "two"
			for range kills {
				step := 1 + random.IntN(replacementSteps)
				f.killAt(step)
				f.finishPlainly()
			}
			for applies := 0; f.Plan().ExitCode == 2; applies++ {
				if applies > 2*len(f.Nodes) {
					t.Fatalf("pending after %d applies: %v", applies, f.pending())
				}
				f.Apply().MustSucceed()
			}
			f.MustNotPause(writer, Pause, f.names()...)
			watch.end()
			f.MustVote(f.names()...)
			f.Settled()
		})
	}
}

// killAt starts an apply and kills the CLI once it has printed that many starts and ends
// of changes. It returns when the provider and the commands of the run have ended.
func (f *Fleet) killAt(step int) {
	f.TB.Helper()
	run := f.Start("apply")
	etcdtest.Eventually(f.TB, fmt.Sprintf("step %d", step), func() error {
		if run.Steps() < step && !run.Ended() {
			return fmt.Errorf("%d steps", run.Steps())
		}
		return nil
	})
	f.freezeWhole(run)
	run.Kill()
	f.TB.Logf("killed after %d steps", run.Steps())
	etcdtest.Eventually(f.TB, "the run has ended", func() error {
		if left := processesIn(f.Dir); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
	f.expireLock()
}

// freezeWhole stops the CLI while its state file is whole. The CLI overwrites the file in
// place: a kill in between would lose the state, which no provider can prevent.
func (f *Fleet) freezeWhole(run *Running) {
	f.TB.Helper()
	etcdtest.Eventually(f.TB, "the state is whole", func() error {
		if run.Ended() {
			return nil
		}
		pid := run.Cmd.Process.Pid
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		etcdtest.Eventually(f.TB, "the CLI stands still", func() error {
			if !etcdtest.Frozen(pid) {
				return errors.New("it runs")
			}
			return nil
		})
		if json.Valid([]byte(f.Read("terraform.tfstate"))) {
			return nil
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		return errors.New("the CLI writes it")
	})
}

// finishPlainly applies once, after which nobody is on the way.
func (f *Fleet) finishPlainly() {
	f.TB.Helper()
	f.Apply().MustSucceed()
	f.MustVote(f.names()...)
}

// voterWatch watches the member list: at most one of the wanted names that have been
// voters may be none. Two would mean that two voters are on their way.
type voterWatch struct {
	tb      testing.TB
	stop    func()
	wanted  []string
	voted   map[string]bool
	looks   int
	missing []string // of the first look with too many
}

func watchVoters(tb testing.TB, client *clientv3.Client, names ...string) *voterWatch {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w := &voterWatch{tb: tb, wanted: names, voted: map[string]bool{}, stop: func() { cancel(); wg.Wait() }}
	wg.Go(func() {
		for ctx.Err() == nil {
			at, done := context.WithTimeout(ctx, 2*time.Second)
			list, err := client.MemberList(at)
			done()
			if err == nil {
				w.look(list)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	tb.Cleanup(w.stop)
	return w
}

func (w *voterWatch) look(list *clientv3.MemberListResponse) {
	w.looks++
	voters := map[string]bool{}
	for _, m := range list.Members {
		voters[m.Name] = !m.IsLearner
	}
	var missing []string
	for _, name := range w.wanted {
		w.voted[name] = w.voted[name] || voters[name]
		if w.voted[name] && !voters[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 1 && w.missing == nil {
		w.missing = missing
	}
}

// end ends the watch, and fails the test if it has found something.
func (w *voterWatch) end() {
	w.tb.Helper()
	w.stop()
	if w.missing != nil || w.looks == 0 {
		w.tb.Errorf("in %d looks, %v were not voters at the same time", w.looks, w.missing)
	}
}
