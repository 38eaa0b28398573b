// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// joinD adds d and promotes it.
func joinD(ctx context.Context, e *Engine) error {
	_, err := e.Join(ctx, JoinRequest{Owner: "name:d", Name: "d", PeerURLs: peerURL("d"), Goal: Voting, StallTimeout: time.Minute})
	return err
}

// A join that the servers refuse tries again after longer and longer pauses,
// although it takes the lock for each attempt.
func TestARefusedJoinBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := fakeCluster()
		begin := time.Now()
		f.answer = func(change string) error {
			if change == "AddLearner" && time.Since(begin) < time.Minute {
				return cluster.ErrUnhealthy
			}
			return nil
		}
		if err := joinD(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		// About 35 until the pause is half a second, and two in each second after that.
		if n := f.count("AddLearner"); n < 100 || n > 200 {
			t.Errorf("it was sent %d times in a minute", n)
		}
	})
}

// The time for which a refusal must hold begins with the refusal. A wait for the
// lock before it does not count.
func TestDoubtBeginsAfterTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := fakeCluster()
		free := time.Now().Add(time.Minute)
		f.down = func() membership.MemberID {
			if time.Now().Before(free.Add(2 * time.Second)) {
				return 3
			}
			return 0
		}
		unlock, err := e.Process.lock(t.Context(), 9, "add member e")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, unlock)
		if err := joinD(t.Context(), e); err != nil {
			t.Errorf("behind another join: %v", err)
		}
	})
}

// Neither does the observation that showed it.
func TestDoubtBeginsAfterTheObservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := fakeCluster()
		f.takes = healthInterval + time.Second/10
		f.records["c"] = cluster.Record{Owner: "c", Name: "c", PeerURLs: peerURL("c"), State: cluster.Announced, MemberID: membership.MemberID(3).String()}
		end := time.Now().Add(8 * time.Second)
		f.down = func() membership.MemberID {
			if time.Now().After(end) {
				return 3
			}
			return 0
		}
		out, err := e.Withdraw(t.Context(), WithdrawRequest{Owner: "c", Name: "c", PeerURLs: peerURL("c")})
		if err != nil || f.count("Remove") != 1 {
			t.Errorf("a voter that was about to end stays: %+v, %v, %q", out.Warnings, err, f.calls)
		}
	})
}
