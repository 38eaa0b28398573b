// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package onecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// replacementSteps is how many starts and ends of changes a CLI prints for a node that is
// rebuilt: two for each of two deletions, an update and two creations.
const replacementSteps = 10

// An image is rolled under a writer while the CLI is killed at random steps, and plain
// applies finish the roll. There are never two voters on their way, and no write is lost.
// (With ETCD_TEST_FULL=1 also in a cluster of seven.)
func TestAccOneClusterRollIsKilled(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"a b c": 2, "a b c d e": 2}
	if etcdtest.Full() {
		sizes["a b c d e f g"] = 5
	}
	for names, kills := range sizes {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, acctest.CLI(t), names)
			s.apply()
			random := rand.New(rand.NewPCG(uint64(len(names)), 1))
			watch := s.watchVoters(len(s.Nodes))
			writer := s.Writer(s.names()...)
			s.Image = "two"
			for range kills {
				step := 1 + random.IntN(replacementSteps)
				s.killAt(step)
				s.finishPlainly()
			}
			for applies := 0; s.Plan().ExitCode == 2; applies++ {
				if applies > 2*len(s.Nodes) {
					t.Fatalf("pending after %d applies: %v", applies, s.pending())
				}
				s.Apply().MustSucceed()
			}
			s.MustNotPause(writer, acctest.Pause, s.names()...)
			watch()
			s.MustVote(s.names()...)
			s.settled()
		})
	}
}

// killAt starts an apply and kills the CLI once it has printed that many starts and ends
// of changes. It returns when the provider and the commands of the run have ended.
func (s *site) killAt(step int) {
	s.TB.Helper()
	run := s.Start("apply")
	etcdtest.Eventually(s.TB, fmt.Sprintf("step %d", step), func() error {
		if run.Steps() < step && !run.Ended() {
			return fmt.Errorf("%d steps", run.Steps())
		}
		return nil
	})
	s.freezeWhole(run)
	run.Kill()
	s.TB.Logf("killed after %d steps", run.Steps())
	etcdtest.Eventually(s.TB, "the run has ended", func() error {
		if left := acctest.ProcessesIn(s.Dir); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
	s.ExpireLock()
}

// freezeWhole stops the CLI while its state file is whole. The CLI overwrites the file in
// place: a kill in between would lose the state, which no provider can prevent.
func (s *site) freezeWhole(run *acctest.Running) {
	s.TB.Helper()
	etcdtest.Eventually(s.TB, "the state is whole", func() error {
		if run.Ended() {
			return nil
		}
		pid := run.Cmd.Process.Pid
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		etcdtest.Eventually(s.TB, "the CLI stands still", func() error {
			if !etcdtest.Frozen(pid) {
				return errors.New("it runs")
			}
			return nil
		})
		if json.Valid([]byte(s.Read("terraform.tfstate"))) {
			return nil
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		return errors.New("the CLI writes it")
	})
}

// finishPlainly applies once, after which nobody is on the way.
func (s *site) finishPlainly() {
	s.TB.Helper()
	s.Apply().MustSucceed()
	s.MustVote(s.names()...)
}

// watchVoters watches the member list. The function that it returns ends the watch, and
// fails the test if the cluster was ever short of more than one of its voters.
func (s *site) watchVoters(size int) (end func()) {
	s.TB.Helper()
	client := s.Client()
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	fewest, looks := size, 0
	watch.Go(func() {
		for ctx.Err() == nil {
			at, done := context.WithTimeout(ctx, 2*time.Second)
			list, err := client.MemberList(at)
			done()
			if err == nil {
				looks++
				fewest = min(fewest, voters(list))
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	s.TB.Cleanup(func() { cancel(); watch.Wait() })
	return func() {
		s.TB.Helper()
		cancel()
		watch.Wait()
		if fewest != size-1 {
			s.TB.Errorf("the cluster had %d voters at least, in %d looks, want %d", fewest, looks, size-1)
		}
	}
}

func voters(list *clientv3.MemberListResponse) (n int) {
	for _, m := range list.Members {
		if !m.IsLearner {
			n++
		}
	}
	return n
}
