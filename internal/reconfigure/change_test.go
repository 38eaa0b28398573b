// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// joinD adds d and promotes it.
func joinD(ctx context.Context, e *Engine) error {
	_, err := e.Join(ctx, JoinRequest{Owner: "name:d", Name: "d", PeerURLs: peerURL("d"), Goal: Voting})
	return err
}

// The check of the lock is the last call before every change, and the change ends
// before a lock that was just checked can expire.
func TestTheLockIsCheckedLast(t *testing.T) {
	changes := []string{"AddLearner", "Promote", "Remove", "UpdatePeerURLs", "MoveLeader"}
	for name, run := range map[string]func(context.Context, *fake, *Engine) error{
		"add and promote": func(ctx context.Context, _ *fake, e *Engine) error { return joinD(ctx, e) },
		"take an addition with other URLs back, and add": func(ctx context.Context, f *fake, e *Engine) error {
			f.records["name:d"] = cluster.Record{Owner: "name:d", Name: "d", PeerURLs: peerURL("x"), State: cluster.Announced, MemberID: membership.MemberID(8).String()}
			f.members = append(f.members, membership.Member{ID: 8, PeerURLs: peerURL("x"), Learner: true})
			return joinD(ctx, e)
		},
		"update the leader": func(ctx context.Context, _ *fake, e *Engine) error {
			_, err := e.UpdatePeerURLs(ctx, UpdateRequest{Owner: "name:a", ID: 1, Cluster: 9, Name: "a", PeerURLs: peerURL("x")})
			return err
		},
		"replace the leader": func(ctx context.Context, _ *fake, e *Engine) error {
			_, err := e.Leave(ctx, LeaveRequest{Owner: "name:a", KeepRecord: true, ID: 1, Cluster: 9, Name: "a", PeerURLs: peerURL("a"), Replacement: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				f, e := fakeCluster()
				if err := run(ctx, f, e); err != nil {
					t.Fatal(err, f.calls)
				}
				made := 0
				for i, call := range f.calls {
					if !slices.Contains(changes, call) {
						continue
					}
					if made++; f.calls[i-1] != "Check" {
						t.Errorf("%s follows %s", call, f.calls[i-1])
					}
					if limit, limited := f.limits[call]; !limited || limit >= claim.LockTTL/3 {
						t.Errorf("%s may take %v", call, limit)
					}
				}
				if made == 0 {
					t.Errorf("nothing was changed: %q", f.calls)
				}
			})
		})
	}
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
