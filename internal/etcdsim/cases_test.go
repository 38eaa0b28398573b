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
