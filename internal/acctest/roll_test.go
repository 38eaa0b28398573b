// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// replacementSteps is how many starts and ends of changes a CLI prints for a node that is
// rebuilt: two for each of two deletions, an update and two creations.
const replacementSteps = 10

// An image is rolled under a writer while the CLI is killed at random steps, and plain
// applies finish the roll. No write is lost.
func TestAccRollIsKilled(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	random := rand.New(rand.NewPCG(5, 1))
	writer := f.Writer(50 * time.Millisecond)
	f.Image = "two"
	for range 2 {
		f.killAt(1 + random.IntN(replacementSteps))
		f.Form()
	}
	for applies := 0; f.Plan().ExitCode == 2; applies++ {
		if applies > 2*len(f.Nodes) {
			t.Fatalf("pending after %d applies: %v", applies, f.pending())
		}
		f.Apply().MustSucceed()
	}
	f.MustNotPause(writer, Pause, f.names()...)
	f.MustVote(f.names()...)
	f.Settled()
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
