// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func leadershipCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	lead, others := leader(tb, ms)
	ctx := within(tb)
	to := others[0].id(tb)
	_, err := others[0].MoveLeader(ctx, to)
	refused(tb, err, rpctypes.ErrNotLeader)
	_, err = lead.MoveLeader(ctx, 1)
	refused(tb, err, rpctypes.ErrBadLeaderTransferee)
	term := lead.status(tb).RaftTerm
	_, err = lead.MoveLeader(ctx, to)
	ok(tb, err)
	now, _ := leader(tb, ms)
	same(tb, "the leader", now.id(tb), to)
	if got := now.status(tb).RaftTerm; got <= term {
		tb.Fatalf("term %d after %d", got, term)
	}
	_, err = now.MoveLeader(ctx, to) // to itself
	ok(tb, err)
}

// Nobody hears of a frozen follower; the others go on, and it catches up.
func frozenCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	lead, others := leader(tb, ms)
	one := others[0]
	one.Freeze()
	defer one.Thaw()
	refused(tb, short(func(ctx context.Context) error { _, err := one.Get(ctx, "key"); return err }), context.DeadlineExceeded)
	put, err := lead.Put(within(tb), "key", "frozen")
	ok(tb, err)
	one.Thaw()
	etcdtest.Eventually(tb, "a read after it", func() error {
		return short(func(ctx context.Context) error {
			got, err := one.Get(ctx, "key")
			if err == nil && got.Header.Revision < put.Header.Revision {
				tb.Fatalf("a stale read")
			}
			return err
		})
	})
}

func removedLeaderCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	lead, others := leader(tb, ms)
	id := lead.id(tb)
	etcdtest.Eventually(tb, "a removal", func() error {
		// The member ends a second later, perhaps before it has answered.
		err := short(func(ctx context.Context) error { _, err := lead.MemberRemove(ctx, id); return err })
		if err != nil && !errors.Is(err, rpctypes.ErrUnhealthy) && others[0].find(tb, id) == nil {
			return nil
		}
		return err
	})
	if took := time.Since(s.began); took < interval {
		tb.Fatalf("healthy %v after the start", took)
	}
	now, _ := leader(tb, others)
	same(tb, "members", len(now.list(tb)), 3)
	etcdtest.Until(tb, "the end of the removed member", func() bool {
		return short(func(ctx context.Context) error { _, err := lead.Status(ctx, lead.ClientURL()); return err }) != nil
	})
}

// With one of three voters down nothing is added, and only that one is removed. A
// cluster of one may add a voter that does not run, and then has no quorum.
func downCase(tb etcdtest.TB, s system) {
	all := open(tb, s.servers...)
	var ms []member
	for _, m := range all { // one was removed
		if short(func(ctx context.Context) error { _, err := m.Status(ctx, m.ClientURL()); return err }) == nil {
			ms = append(ms, m)
		}
	}
	lead, others := leader(tb, ms)
	live, dead := others[0], others[1].id(tb)
	ctx := within(tb)
	etcdtest.Until(tb, "two peers", func() bool { return active(tb, lead) == 2 })
	others[1].PowerOff()
	etcdtest.Until(tb, "the leader sees it", func() bool { return active(tb, lead) == 1 })
	for _, err := range []error{
		func() error { _, err := lead.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"}); return err }(),
		func() error { _, err := lead.MemberAdd(ctx, []string{"http://127.0.0.1:1"}); return err }(),
		func() error { _, err := lead.MemberRemove(ctx, live.id(tb)); return err }(),
	} {
		refused(tb, err, rpctypes.ErrUnhealthy)
	}
	_, err := lead.MemberRemove(ctx, dead)
	ok(tb, err)
	etcdtest.Eventually(tb, "another removal", func() error {
		_, err := lead.MemberRemove(ctx, live.id(tb))
		if err != nil && !errors.Is(err, rpctypes.ErrUnhealthy) {
			tb.Fatalf("%v", err)
		}
		return err
	})
	_, err = lead.MemberRemove(ctx, lead.id(tb)) // the last one
	refused(tb, err, rpctypes.ErrMemberNotEnoughStarted)
	p := s.joiner(tb, "e")
	added, err := lead.MemberAdd(ctx, []string{p.PeerURL()}) // no health interval for one
	ok(tb, err)
	noQuorum(tb, lead, 2)
	_, err = lead.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
	refused(tb, err, rpctypes.ErrUnhealthy)
	_, err = lead.MemberAdd(ctx, []string{"http://127.0.0.1:1"})
	refused(tb, err, rpctypes.ErrMemberNotEnoughStarted)
	p.Start()
	now, _ := leader(tb, []member{lead, open(tb, p)[0]})
	etcdtest.Eventually(tb, "a name", func() error {
		if m := now.find(tb, added.Member.ID); m.Name != "e" {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
	_, err = now.Put(ctx, "key", "")
	ok(tb, err)
}

// active returns how many peers a member is connected to.
func active(tb etcdtest.TB, m member) (n int) {
	tb.Helper()
	metrics, err := metricsOf(m.server)
	ok(tb, err)
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "etcd_network_active_peers{") && strings.HasSuffix(line, " 1\n") {
			n++
		}
	}
	return n
}

// noQuorum states what a member without a quorum answers.
func noQuorum(tb etcdtest.TB, m member, members int) {
	tb.Helper()
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := m.Put(ctx, "key", ""); return err },
		func(ctx context.Context) error { _, err := m.Get(ctx, "key"); return err },
		func(ctx context.Context) error { _, err := m.MemberList(ctx); return err },
	} {
		// The deadline is the server's too, which may answer at the last moment.
		switch err := short(do); {
		case errors.Is(err, rpctypes.ErrTimeout), errors.Is(err, rpctypes.ErrTimeoutDueToConnectionLost), errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail):
		default:
			refused(tb, err, context.DeadlineExceeded)
		}
	}
	local, err := m.MemberList(within(tb), clientv3.WithSerializable())
	ok(tb, err)
	same(tb, "members", len(local.Members), members)
	_, err = m.Get(within(tb), "key", clientv3.WithSerializable())
	ok(tb, err)
	etcdtest.Eventually(tb, "no leader", func() error {
		if st := m.status(tb); st.Leader != 0 || !slices.Equal(st.Errors, []string{"etcdserver: no leader"}) {
			return fmt.Errorf("leader %x, %v", st.Leader, st.Errors)
		}
		return nil
	})
}

// etcd promotes a learner that is dead if it had caught up. Here that costs the quorum.
func deadLearnerCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers...)[0]
	ctx := within(tb)
	p := s.joiner(tb, "b")
	added := add(tb, m, true, p.PeerURL())
	p.Start()
	learner := open(tb, p)[0]
	var put *clientv3.PutResponse
	var err error
	for range 40 {
		put, err = m.Put(ctx, "key", "")
		ok(tb, err)
	}
	etcdtest.Eventually(tb, "the learner's copy", func() error {
		got, err := learner.Get(ctx, "key", clientv3.WithSerializable())
		if err == nil && (got.Header.Revision < put.Header.Revision || m.find(tb, added.ID).Name == "") {
			err = errors.New("not yet")
		}
		return err
	})
	p.PowerOff()
	got, err := m.MemberPromote(ctx, added.ID)
	ok(tb, err)
	same(tb, "members", len(got.Members), 2)
	noQuorum(tb, m, 2)
	// Its return heals the cluster.
	p.Start()
	leader(tb, []member{m, learner})
	_, err = m.Put(ctx, "key", "")
	ok(tb, err)
}

func splitCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	old, others := leader(tb, ms)
	before := old.status(tb).RaftTerm
	ctx := within(tb)
	_, err := old.Put(ctx, "key", "before")
	ok(tb, err)
	s.split(old.server)
	refused(tb, short(func(ctx context.Context) error { _, err := old.Put(ctx, "other", ""); return err }), context.DeadlineExceeded)
	now, _ := leader(tb, others)
	if term := now.status(tb).RaftTerm; term <= before {
		tb.Fatalf("term %d after %d", term, before)
	}
	_, err = now.Put(ctx, "key", "after")
	ok(tb, err)
	stale, err := old.Get(ctx, "key", clientv3.WithSerializable())
	ok(tb, err)
	same(tb, "a local read", string(stale.Kvs[0].Value), "before")
	noQuorum(tb, old, 3)
	s.heal()
	leader(tb, ms)
	fresh, err := old.Get(ctx, "key")
	ok(tb, err)
	same(tb, "a read", string(fresh.Kvs[0].Value), "after")
	lost, err := old.Get(ctx, "other")
	ok(tb, err)
	same(tb, "what was not committed", lost.Count, 0)
}

// A member knows tokens until it ends.
func tokensCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	_, others := leader(tb, ms)
	m, one := others[0], others[1]
	ctx := within(tb)
	_, err := m.AuthEnable(ctx) // with what the scripts have left
	ok(tb, err)
	login, err := m.Authenticate(ctx, root, "pw")
	ok(tb, err)
	admin := metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, login.Token)
	_, err = one.Put(admin, "k", "")
	ok(tb, err)
	download(tb, admin, one.Client) // which writes the login to the disk
	one.PowerOff()
	one.Start()
	etcdtest.Eventually(tb, "the member is back", func() error {
		return short(func(ctx context.Context) error { _, err := one.Authenticate(ctx, root, "pw"); return err })
	})
	_, err = one.Put(admin, "k", "")
	refused(tb, err, rpctypes.ErrInvalidAuthToken)
	_, err = m.AuthDisable(admin)
	ok(tb, err)
}
