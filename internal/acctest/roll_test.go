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
	f.MustNotPause(writer)
	f.MustVote()
	f.Settled()
}

// killAt starts an apply and kills the CLI once it has printed that many starts and ends
// of changes. It returns when the provider and the commands of the run have ended.
func (f *Fleet) killAt(step int) {
	f.TB.Helper()
	run := f.Start("apply")
	etcdtest.Until(f.TB, fmt.Sprintf("step %d", step), func() bool { return run.Steps() >= step || run.Ended() })
	f.freezeWhole(run)
	run.Kill()
	f.TB.Logf("killed after %d steps", run.Steps())
	awaitNone(f.TB, f.Dir)
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
		etcdtest.Until(f.TB, "the CLI stands still", func() bool { return etcdtest.Frozen(pid) })
		if json.Valid([]byte(f.Read("terraform.tfstate"))) {
			return nil
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		return errors.New("the CLI writes it")
	})
}
