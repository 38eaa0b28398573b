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

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// interval is etcd's HealthInterval, stated here once more.
const interval = 5 * time.Second

// member is a server with a client of it.
type member struct {
	server
	*clientv3.Client
}

func open(tb etcdtest.TB, servers ...server) (out []member) {
	for _, s := range servers {
		out = append(out, member{s, s.client(tb)})
	}
	return out
}

// within returns a context for calls that are expected to be answered.
func within(tb etcdtest.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), etcdtest.WaitLimit)
	tb.Cleanup(cancel)
	return ctx
}

// short calls f with a context that ends soon.
func short(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	return f(ctx)
}

// line renders values, with spaces between them.
func line(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

func ok(tb etcdtest.TB, err error) {
	tb.Helper()
	refused(tb, err, nil)
}

// refused fails the case unless want is the answer.
func refused(tb etcdtest.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("answer %v, want %v", err, want)
	}
}

func same[T any](tb etcdtest.TB, what string, got, want T) {
	tb.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		tb.Fatalf("%s: %s, want %s", what, g, w)
	}
}

func (m member) status(tb etcdtest.TB) *clientv3.StatusResponse {
	tb.Helper()
	st, err := m.Status(within(tb), m.url())
	ok(tb, err)
	return st
}

func (m member) id(tb etcdtest.TB) uint64 { return m.status(tb).Header.MemberId }

// list returns the members as lines.
func lines(members []*pb.Member) (out []string) {
	for _, m := range members {
		out = append(out, fmt.Sprintf("%x %q %v %v %v", m.ID, m.Name, m.PeerURLs, len(m.ClientURLs), m.IsLearner))
	}
	return out
}

func (m member) list(tb etcdtest.TB) []*pb.Member {
	tb.Helper()
	got, err := m.MemberList(within(tb))
	ok(tb, err)
	if !slices.IsSortedFunc(got.Members, func(a, b *pb.Member) int { return int(int64(a.ID>>1) - int64(b.ID>>1)) }) {
		tb.Fatalf("not in the order of the IDs: %v", lines(got.Members))
	}
	return got.Members
}

func (m member) find(tb etcdtest.TB, id uint64) *pb.Member {
	tb.Helper()
	for _, o := range m.list(tb) {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// leader waits until all of the members name the same one, and returns it with the
// others.
func leader(tb etcdtest.TB, members []member) (lead member, others []member) {
	tb.Helper()
	etcdtest.Eventually(tb, "a leader", func() error {
		lead, others = member{}, nil
		names := map[uint64]bool{}
		for _, m := range members {
			var st *clientv3.StatusResponse
			if err := short(func(ctx context.Context) (err error) { st, err = m.Status(ctx, m.url()); return err }); err != nil {
				return err
			}
			names[st.Leader] = true
			if st.Leader == st.Header.MemberId {
				lead = m
			} else {
				others = append(others, m)
			}
		}
		if lead.server == nil || len(names) != 1 {
			return fmt.Errorf("leaders %v", names)
		}
		return nil
	})
	return lead, others
}

// add adds a member as soon as its cluster counts as healthy.
func add(tb etcdtest.TB, m member, learner bool, peerURLs ...string) *pb.Member {
	tb.Helper()
	var added *pb.Member
	etcdtest.Eventually(tb, "an add", func() error {
		do := m.MemberAdd
		if learner {
			do = m.MemberAddAsLearner
		}
		got, err := do(within(tb), peerURLs)
		if err == nil {
			added = got.Member
		} else if !errors.Is(err, rpctypes.ErrUnhealthy) {
			tb.Fatalf("add %v: %v", peerURLs, err)
		}
		return err
	})
	return added
}

// The health interval counts from the connection of the voters, so from after their
// start.
func healthIntervalCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers()...)[1]
	learner := add(tb, m, true, "http://127.0.0.1:1")
	if took := time.Since(s.began()); took < interval {
		tb.Fatalf("healthy %v after the start", took)
	}
	_, err := m.MemberRemove(within(tb), learner.ID)
	ok(tb, err)
}

func membersCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	a, b, c := ms[0], ms[1], ms[2]
	ctx := within(tb)
	const one, two = "http://127.0.0.1:2", "http://127.0.0.1:1"
	voter := a.list(tb)[0]
	before := time.Now()
	got, err := a.MemberAddAsLearner(ctx, []string{one, two})
	ok(tb, err)
	learner := got.Member
	same(tb, "the member", lines([]*pb.Member{learner})[0], fmt.Sprintf(`%x "" [%s %s] 0 true`, learner.ID, two, one))
	same(tb, "the list", lines(got.Members), lines(b.list(tb)))
	same(tb, "members", len(got.Members), 4)
	header(tb, a, got.Header, 0)
	hashed := false
	for at := before.Truncate(time.Second); !at.After(time.Now()); at = at.Add(time.Second) {
		hashed = hashed || uint64(membership.ComputeMemberID([]string{one, two}, "", &at)) == learner.ID
	}
	same(tb, "the ID is a hash of the URLs and the second", hashed, true)

	_, err = b.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:3"})
	refused(tb, err, rpctypes.ErrTooManyLearners)
	_, err = b.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:3", two})
	refused(tb, err, rpctypes.ErrPeerURLExist) // before the limit of learners
	_, err = b.MemberAdd(ctx, []string{one})
	refused(tb, err, rpctypes.ErrPeerURLExist)
	_, err = a.MemberPromote(ctx, learner.ID) // never started
	refused(tb, err, rpctypes.ErrMemberLearnerNotReady)
	_, err = c.MemberPromote(ctx, learner.ID) // the same through any member
	refused(tb, err, rpctypes.ErrMemberLearnerNotReady)
	_, err = b.MemberPromote(ctx, voter.ID)
	refused(tb, err, rpctypes.ErrMemberNotLearner)
	for _, id := range []uint64{1} {
		_, err = b.MemberPromote(ctx, id)
		refused(tb, err, rpctypes.ErrMemberNotFound)
		_, err = b.MemberUpdate(ctx, id, []string{one})
		refused(tb, err, rpctypes.ErrMemberNotFound)
		_, err = b.MemberRemove(ctx, id)
		refused(tb, err, rpctypes.ErrMemberNotFound)
	}
	_, err = b.MemberUpdate(ctx, learner.ID, voter.PeerURLs)
	refused(tb, err, rpctypes.ErrPeerURLExist)
	updated, err := b.MemberUpdate(ctx, learner.ID, []string{one})
	ok(tb, err)
	header(tb, b, updated.Header, 0)
	same(tb, "the list", lines(updated.Members), lines(b.list(tb)))
	same(tb, "the updated learner", lines([]*pb.Member{c.find(tb, learner.ID)})[0], fmt.Sprintf(`%x "" [%s] 0 true`, learner.ID, one))
	gone, err := c.MemberRemove(ctx, learner.ID) // a learner goes at once
	ok(tb, err)
	header(tb, c, gone.Header, 0)
	same(tb, "the list", lines(gone.Members), lines(a.list(tb)))
	for _, again := range []error{
		func() error { _, err := a.MemberRemove(ctx, learner.ID); return err }(),
		func() error { _, err := a.MemberPromote(ctx, learner.ID); return err }(),
		func() error { _, err := a.MemberUpdate(ctx, learner.ID, []string{one}); return err }(),
	} {
		refused(tb, again, rpctypes.ErrMemberNotFound)
	}
	for _, m := range a.list(tb) {
		same(tb, "an initial member", line(m.Name != "", len(m.ClientURLs), m.IsLearner), line(true, 1, false))
	}
}

// A member that is added, removed and added again within one second has the ID of
// one that was removed. A machine that needs longer tries again.
func oneSecondCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers()...)[0]
	ctx := within(tb)
	port := 10
	etcdtest.Eventually(tb, "three changes within one second", func() error {
		port++
		url := fmt.Sprint("http://127.0.0.1:", port)
		before := time.Now().Unix()
		first := add(tb, m, true, url)
		_, err := m.MemberRemove(ctx, first.ID)
		ok(tb, err)
		_, err = m.MemberAddAsLearner(ctx, []string{url})
		if time.Now().Unix() == before {
			refused(tb, err, rpctypes.ErrMemberNotFound)
			return nil
		}
		if err == nil {
			list := m.list(tb)
			learner := list[slices.IndexFunc(list, func(m *pb.Member) bool { return m.IsLearner })]
			_, err = m.MemberRemove(ctx, learner.ID)
		}
		return errors.Join(err, errors.New("the second was over"))
	})
}

func statusCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	lead, _ := leader(tb, ms)
	want := lead.status(tb)
	for _, m := range ms {
		st := m.status(tb)
		same(tb, "status", line(st.Version, st.Leader, st.Header.ClusterId, st.IsLearner, st.Errors, st.RaftTerm >= 2, st.RaftTerm == want.RaftTerm, st.RaftTerm == st.Header.RaftTerm),
			line(s.version(), want.Header.MemberId, want.Header.ClusterId, false, []string{}, true, true, true))
		etcdtest.Eventually(tb, "all is applied", func() error {
			if st := m.status(tb); st.RaftIndex != st.RaftAppliedIndex {
				return fmt.Errorf("%d of %d", st.RaftAppliedIndex, st.RaftIndex)
			}
			return nil
		})
		storage, quota := "", int64(0)
		if !strings.HasPrefix(string(s.version()), "3.5.") {
			storage, quota = string(s.version())[:4]+"0", 2<<30
		}
		same(tb, "new fields", line(st.StorageVersion, st.DbSizeQuota, st.DowngradeInfo.GetEnabled(), st.DowngradeInfo.GetTargetVersion()), line(storage, quota, false, ""))
	}
	before := lead.status(tb).RaftIndex
	_, err := ms[0].Put(within(tb), "index", "")
	ok(tb, err)
	if after := lead.status(tb).RaftIndex; after <= before {
		tb.Fatalf("index %d before a write, %d after it", before, after)
	}
	metrics, err := lead.metrics()
	ok(tb, err)
	same(tb, "metrics", line(strings.Contains(metrics, "\netcd_server_is_leader 1\n") || strings.HasPrefix(metrics, "etcd_server_is_leader 1\n"),
		strings.Count(metrics, "\netcd_network_active_peers{")), "true 2")
}

// A learner joins, serves what a learner serves, and is promoted and removed.
func learnerCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	lead, others := leader(tb, ms)
	ctx := within(tb)
	p := s.joiner(tb, "d")
	id := add(tb, others[0], true, p.peerURL()).ID
	p.start(tb)
	d := open(tb, p)[0]
	etcdtest.Eventually(tb, "the name of the learner", func() error {
		if m := lead.find(tb, id); m.Name != "d" || len(m.ClientURLs) != 1 {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
	put, err := lead.Put(ctx, "key", "value")
	ok(tb, err)
	etcdtest.Eventually(tb, "the key at the learner", func() error {
		got, err := d.Get(ctx, "key", clientv3.WithSerializable())
		if err == nil && got.Header.Revision < put.Header.Revision {
			err = errors.New("not yet")
		}
		return err
	})
	st := d.status(tb)
	same(tb, "status", line(st.IsLearner, st.Header.MemberId, st.Leader), line(true, id, lead.id(tb)))
	for what, err := range map[string]error{
		"get":   func() error { _, err := d.Get(ctx, "key"); return err }(),
		"put":   func() error { _, err := d.Put(ctx, "key", ""); return err }(),
		"list":  func() error { _, err := d.MemberList(ctx, clientv3.WithSerializable()); return err }(),
		"grant": func() error { _, err := d.Grant(ctx, 60); return err }(),
	} {
		if rpctypes.ErrorDesc(err) != rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner) {
			tb.Fatalf("%s: %v", what, err)
		}
	}
	download(tb, d.Client)
	_, err = lead.MoveLeader(ctx, id)
	refused(tb, err, rpctypes.ErrBadLeaderTransferee)
	var promoted *clientv3.MemberPromoteResponse
	etcdtest.Eventually(tb, "a promotion", func() (err error) {
		promoted, err = others[1].MemberPromote(ctx, id) // passed on to the leader
		if err != nil && !errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
			tb.Fatalf("%v", err)
		}
		return err
	})
	header(tb, others[1], promoted.Header, 0)
	same(tb, "the list", lines(promoted.Members), lines(others[1].list(tb)))
	_, err = lead.MemberPromote(ctx, id)
	refused(tb, err, rpctypes.ErrMemberNotLearner)
	same(tb, "a learner", lead.find(tb, id).IsLearner, false)
	etcdtest.Eventually(tb, "a read", func() error { _, err := d.Get(ctx, "key"); return err })
	etcdtest.Eventually(tb, "a removal", func() error { // the new voter must be connected for 5 s
		_, err := lead.MemberRemove(ctx, id)
		if err != nil && !errors.Is(err, rpctypes.ErrUnhealthy) {
			tb.Fatalf("%v", err)
		}
		return err
	})
	same(tb, "members", len(lead.list(tb)), 3)
	etcdtest.Until(tb, "the end of the removed member", func() bool {
		return short(func(ctx context.Context) error { _, err := d.Status(ctx, d.url()); return err }) != nil
	})
}

func leadershipCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
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
	ms := open(tb, s.servers()...)
	lead, others := leader(tb, ms)
	one := others[0]
	one.freeze()
	defer one.thaw()
	refused(tb, short(func(ctx context.Context) error { _, err := one.Get(ctx, "key"); return err }), context.DeadlineExceeded)
	put, err := lead.Put(within(tb), "key", "frozen")
	ok(tb, err)
	one.thaw()
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
	ms := open(tb, s.servers()...)
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
	if took := time.Since(s.began()); took < interval {
		tb.Fatalf("healthy %v after the start", took)
	}
	now, _ := leader(tb, others)
	same(tb, "members", len(now.list(tb)), 3)
	etcdtest.Until(tb, "the end of the removed member", func() bool {
		return short(func(ctx context.Context) error { _, err := lead.Status(ctx, lead.url()); return err }) != nil
	})
}

// With one of three voters down nothing is added, and only that one is removed. A
// cluster of one may add a voter that does not run, and then has no quorum.
func downCase(tb etcdtest.TB, s system) {
	all := open(tb, s.servers()...)
	var ms []member
	for _, m := range all { // one was removed
		if short(func(ctx context.Context) error { _, err := m.Status(ctx, m.url()); return err }) == nil {
			ms = append(ms, m)
		}
	}
	lead, others := leader(tb, ms)
	live, dead := others[0], others[1].id(tb)
	ctx := within(tb)
	etcdtest.Until(tb, "two peers", func() bool { return active(tb, lead) == 2 })
	others[1].powerOff()
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
	added, err := lead.MemberAdd(ctx, []string{p.peerURL()}) // no health interval for one
	ok(tb, err)
	noQuorum(tb, lead, 2)
	_, err = lead.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
	refused(tb, err, rpctypes.ErrUnhealthy)
	_, err = lead.MemberAdd(ctx, []string{"http://127.0.0.1:1"})
	refused(tb, err, rpctypes.ErrMemberNotEnoughStarted)
	p.start(tb)
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
	metrics, err := m.metrics()
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
	m := open(tb, s.servers()...)[0]
	ctx := within(tb)
	p := s.joiner(tb, "b")
	added := add(tb, m, true, p.peerURL())
	p.start(tb)
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
	p.powerOff()
	got, err := m.MemberPromote(ctx, added.ID)
	ok(tb, err)
	same(tb, "members", len(got.Members), 2)
	noQuorum(tb, m, 2)
	// Its return heals the cluster.
	p.start(tb)
	leader(tb, []member{m, learner})
	_, err = m.Put(ctx, "key", "")
	ok(tb, err)
}

func splitCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
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
