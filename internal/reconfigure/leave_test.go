// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// After a removal the next change waits until the remaining members follow a leader
// (etcd-io/etcd#15528, etcd-io/etcd#14040), and the same URL is not added until the ID
// computed from it differs (etcd-io/etcd#10765).
func TestSettle(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		added := b.join(request("d", Announced)).Member.ID
		end := time.Now().Add(10 * time.Second)
		b.alter(end, func(s *membership.Snapshot) {
			for id, a := range s.Answers {
				if _, listed := s.Member(added); !listed {
					a.Leader = 0
					s.Answers[id] = a
				}
			}
		})
		b.leave(b.leaving("d"))
		if time.Now().Before(end) {
			b.Error("the removal was over before there was a leader")
		}
		b.join(request("e", Announced))
		b.leave(b.leaving("e"))
		b.join(request("e", Announced))
		calls := b.made("MemberRemove", "MemberAdd")
		if n := len(calls); n != 5 || calls[4].at.Sub(calls[3].at) < time.Second {
			b.Errorf("the same URL was back at once: %+v", calls)
		}
	})
}

// mustWait fails the test unless these replacements are on record.
func (b *bench) mustWait(want ...string) {
	b.Helper()
	all, err := cluster.All(b.Context(), b.process("test").Cluster.Turns(b.observed().ClusterID))
	b.ok(err)
	var got []string
	for _, turn := range all {
		got = append(got, turn.Name)
	}
	if !slices.Equal(got, want) {
		b.Errorf("on record are %v, want %v", got, want)
	}
}

// A turn is on record from the removal until another member was added, and does not come back
// when the cluster shrinks.
func TestTurnIsOverForGood(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.leave(b.replacing("c"))
		b.mustWait("c")
		b.boot("d")
		b.join(request("d", Voting))
		b.mustWait()
		b.leave(b.leaving("d"))
		b.leave(b.replacing("b"))
	})
}

// A turn whose configuration is destroyed permanently is given up, even if the cluster does
// not answer at first, and if this process has seen the removal of the member. If that fails,
// the caller gets the error, which names the key.
func TestGiveUpTurn(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		r := b.leaving("c")
		answer, failures := status.Error(codes.Unavailable, "lost"), 3
		b.each = func(c etcdsim.Call) error {
			if d, ok := c.Request.(*etcdserverpb.DeleteRangeRequest); ok && strings.Contains(string(d.Key), "/turns/") {
				if failures--; failures >= 0 {
					return answer
				}
			}
			return nil
		}
		turn := func(voters int) {
			_, err := b.engine.Cluster.Turns(r.Cluster).Put(b.Context(), membership.Turn{Name: "c", Voters: voters, Since: time.Now(), By: "x"})
			b.ok(err)
		}
		turn(3)
		b.ok(b.engine.GiveUpTurn(b.Context(), "o", "c"))
		b.mustWait()

		turn(4)
		failures, answer = 1, rpctypes.ErrGRPCPermissionDenied
		if err := b.engine.GiveUpTurn(b.Context(), "o", "c"); !errors.Is(err, cluster.ErrPermission) {
			b.Errorf("denied: %v", err)
		}
		failures, answer = 1_000_000, status.Error(codes.Unavailable, "lost")
		err := b.engine.GiveUpTurn(b.Context(), "o", "c")
		if left, ok := errors.AsType[*cluster.NotDeleted](err); !ok || left.Key != b.key("turns/c") {
			b.Errorf("never answered: %v", err)
		}
		over, end := context.WithCancel(b.Context())
		time.AfterFunc(time.Second, end)
		if err := b.engine.GiveUpTurn(over, "o", "c"); !errors.Is(err, context.Canceled) {
			b.Errorf("interrupted: %v", err)
		}

		b.leave(r) // the turn stays
		b.mustWait("c")
		failures = 0
		b.ok(b.engine.GiveUpTurn(b.Context(), r.Owner, "c"))
		b.mustWait()
	})
}

// A change of peer URLs changes the record of the member too.
func TestTheRecordFollowsThePeerURLs(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.forge(recordFor("name:b", b.member("b")))
		b.ok(b.update(b.Context(), b.leaving("b"), "moved"))
		r, _, err := b.engine.Cluster.Records(b.observed().ClusterID).Get(b.Context(), "name:b")
		if want := etcdsim.PeerURL("moved"); b.member("b").PeerURLs[0] != want || err != nil || r.PeerURLs[0] != want {
			b.Errorf("it is listed at %v, and on record is %v, %v", b.member("b").PeerURLs, r.PeerURLs, err)
		}
	})
}

// The machines of a cluster that is given up are destroyed side by side, so a server that
// answers may be about to end. Only an answer that repeats counts, and an interruption is
// never taken for silence.
func TestAnAnswerWhileTheServerEnds(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		ends   time.Duration
		stated string
		code   membership.Code
	}{
		"it is silent":             {0, "a", ""},
		"it ends":                  {time.Second, "a", ""},
		"it stays":                 {never, "a", membership.Contradicted},
		"it stays, nothing stated": {never, "", membership.MayServe},
		"it ends, nothing stated":  {time.Second, "", membership.NotStated},
		"another is stated":        {0, "b", membership.NotStated},
	} {
		each(t, name, "a", func(b *bench) {
			id := b.observed().ClusterID
			b.engine.Process.Know(id, b.member("a"))
			end := time.Now().Add(c.ends)
			b.members["a"].PowerOff()
			b.each = func(etcdsim.Call) error { // it shows itself, and serves nothing
				if time.Now().Before(end) {
					return status.Error(codes.Unavailable, "error reading from server: EOF")
				}
				return nil
			}
			err := b.engine.GiveUp(b.Context(), id, strings.Fields(c.stated))
			kept, refused := errors.AsType[*NotGivenUp](err)
			if refused != (c.code != "") || refused && kept.Decision.Code != c.code || !refused && err != nil {
				b.Error(err)
			}
			end = time.Now().Add(c.ends)
			_, err = b.engine.Withdraw(b.Context(), WithdrawRequest{Owner: "o", Name: "a"})
			if err == nil || cluster.MayServe(err) != (c.ends == never) {
				b.Errorf("the backstop: %v", err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			b.each = func(etcdsim.Call) error { cancel(); return nil }
			if err := b.engine.MayGiveUp(ctx, id, nil); !errors.Is(err, context.Canceled) {
				b.Errorf("interrupted: %v", err)
			}
		})
	}
}
