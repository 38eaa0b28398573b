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
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// text renders keys with their revisions relative to base, and ~ for a lease.
func text(base int64, kvs []*mvccpb.KeyValue) string {
	var out []string
	for _, kv := range kvs {
		text := fmt.Sprintf("%s=%s@%d/%d/%d", kv.Key, kv.Value, kv.CreateRevision-base, kv.ModRevision-base, kv.Version)
		if kv.Lease != 0 {
			text += "~"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func revision(tb etcdtest.TB, m member) int64 {
	tb.Helper()
	got, err := m.Get(within(tb), "none", clientv3.WithCountOnly())
	ok(tb, err)
	return got.Header.Revision
}

func keysCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	a, b := ms[0], ms[1]
	ctx := within(tb)
	base := revision(tb, a)
	for _, kv := range []string{"k/b=1", "k/a=2", "k/b=3", "k/c=0", "l=9"} {
		key, value, _ := strings.Cut(kv, "=")
		_, err := b.Put(ctx, key, value)
		ok(tb, err)
	}
	get := func(opts ...clientv3.OpOption) *clientv3.GetResponse {
		tb.Helper()
		got, err := a.Get(ctx, "k/", slices.Concat([]clientv3.OpOption{clientv3.WithPrefix()}, opts)...)
		ok(tb, err)
		return got
	}
	all := get()
	same(tb, "prefix", text(base, all.Kvs), "k/a=2@2/2/1 k/b=3@1/3/2 k/c=0@4/4/1")
	same(tb, "header", line(all.Header.Revision-base, all.Header.MemberId, all.Count, all.More), line(5, a.id(tb), 3, false))
	one := get(clientv3.WithLimit(1))
	same(tb, "limit", line(text(base, one.Kvs), one.Count, one.More), "k/a=2@2/2/1 3 true")
	same(tb, "limit of all", get(clientv3.WithLimit(3)).More, false)
	count := get(clientv3.WithCountOnly())
	same(tb, "count", line(count.Count, len(count.Kvs)), "3 0")
	same(tb, "keys only", text(base, get(clientv3.WithKeysOnly()).Kvs), "k/a=@2/2/1 k/b=@1/3/2 k/c=@4/4/1")
	past := get(clientv3.WithRev(base + 2))
	same(tb, "the past", line(text(base, past.Kvs), past.Header.Revision-base), "k/a=2@2/2/1 k/b=1@1/1/1 5")
	_, err := a.Get(ctx, "k/a", clientv3.WithRev(base+1000))
	refused(tb, err, rpctypes.ErrFutureRev)
	from, err := a.Get(ctx, "k/c", clientv3.WithFromKey())
	ok(tb, err)
	same(tb, "from a key", text(base, from.Kvs[:2]), "k/c=0@4/4/1 l=9@5/5/1")
	_, err = a.Get(ctx, "")
	refused(tb, err, rpctypes.ErrEmptyKey)
	_, err = a.Put(ctx, "", "")
	refused(tb, err, rpctypes.ErrEmptyKey)

	put, err := a.Put(ctx, "k/a", "4", clientv3.WithPrevKV())
	ok(tb, err)
	same(tb, "previous", text(base, []*mvccpb.KeyValue{put.PrevKv}), "k/a=2@2/2/1")
	_, err = a.Put(ctx, "none", "", clientv3.WithIgnoreValue())
	refused(tb, err, rpctypes.ErrKeyNotFound)
	none, err := a.Delete(ctx, "none")
	ok(tb, err)
	same(tb, "nothing", line(none.Deleted, none.Header.Revision-base), "0 6")
	gone, err := b.Delete(ctx, "k/", clientv3.WithPrefix(), clientv3.WithPrevKV())
	ok(tb, err)
	same(tb, "deleted", line(gone.Deleted, gone.Header.Revision-base, text(base, gone.PrevKvs)), "3 7 k/a=4@2/6/2 k/b=3@1/3/2 k/c=0@4/4/1")
	_, err = a.Put(ctx, "k/a", "5")
	ok(tb, err)
	same(tb, "again", text(base, get().Kvs), "k/a=5@8/8/1")
	_, err = a.Delete(ctx, "k/a")
	ok(tb, err)
}

func txnCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	a, b := ms[0], ms[1]
	ctx := within(tb)
	base := revision(tb, a)
	create := func(m member, value string) *clientv3.TxnResponse {
		tb.Helper()
		got, err := m.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision("t"), "=", 0)).
			Then(clientv3.OpPut("t", value), clientv3.OpPut("t2", value), clientv3.OpGet("t2")).Else(clientv3.OpGet("t")).Commit()
		ok(tb, err)
		return got
	}
	first := create(a, "1")
	same(tb, "created", line(first.Succeeded, first.Header.Revision-base, text(base, first.Responses[2].GetResponseRange().Kvs)), "true 1 t2=1@1/1/1")
	inner := first.Responses[2].GetResponseRange()
	same(tb, "the read", line(inner.Count, inner.More), "1 false")
	for _, h := range []*pb.ResponseHeader{first.Responses[0].GetResponsePut().Header, inner.Header} {
		same(tb, "header of a part", line(h.Revision-base, h.ClusterId, h.MemberId, h.RaftTerm), "1 0 0 0")
	}
	second := create(b, "2")
	same(tb, "exists", line(second.Succeeded, second.Header.Revision-base, text(base, second.Responses[0].GetResponseRange().Kvs)), "false 1 t=1@1/1/1")
	for i, c := range []struct {
		cmp  clientv3.Cmp
		want bool
	}{
		{clientv3.Compare(clientv3.Value("t"), "=", "1"), true},
		{clientv3.Compare(clientv3.Value("t"), "!=", "1"), false},
		{clientv3.Compare(clientv3.Value("none"), "!=", "1"), false}, // no value is equal or unequal to none
		{clientv3.Compare(clientv3.Version("t"), ">", 0), true},
		{clientv3.Compare(clientv3.ModRevision("t"), "<", base+1), false},
		{clientv3.Compare(clientv3.LeaseValue("t"), "=", 0), true},
		{clientv3.Compare(clientv3.CreateRevision("t"), "=", 0).WithPrefix(), false},
		{clientv3.Compare(clientv3.CreateRevision("none"), "=", 0).WithPrefix(), true},
		{clientv3.Compare(clientv3.Value("t"), "=", "1").WithPrefix(), true}, // t and t2
		{clientv3.Compare(clientv3.Value("none"), "!=", "1").WithPrefix(), false},
	} {
		got, err := b.Txn(ctx).If(c.cmp).Commit()
		ok(tb, err)
		same(tb, line("comparison", i), got.Succeeded, c.want)
	}
	_, err := a.Txn(ctx).Then(clientv3.OpPut("t", "1"), clientv3.OpPut("t", "2")).Commit()
	refused(tb, err, rpctypes.ErrDuplicateKey)
	_, err = a.Txn(ctx).Then(clientv3.OpPut("t", "1"), clientv3.OpDelete("t", clientv3.WithPrefix())).Commit()
	refused(tb, err, rpctypes.ErrDuplicateKey)
	_, err = a.Txn(ctx).Then(slices.Repeat([]clientv3.Op{clientv3.OpGet("t")}, 129)...).Commit()
	refused(tb, err, rpctypes.ErrTooManyOps)
	_, err = a.Txn(ctx).Then(clientv3.OpPut("t3", "1"), clientv3.OpPut("t4", "1", clientv3.WithLease(12345))).Commit()
	refused(tb, err, rpctypes.ErrLeaseNotFound)
	left, err := a.Get(ctx, "t", clientv3.WithPrefix())
	ok(tb, err)
	same(tb, "all or nothing", line(text(base, left.Kvs), left.Header.Revision-base), "t=1@1/1/1 t2=1@1/1/1 1")
	gone, err := a.Txn(ctx).Then(clientv3.OpDelete("t"), clientv3.OpDelete("t2"), clientv3.OpDelete("none")).Commit()
	ok(tb, err)
	h := gone.Responses[0].GetResponseDeleteRange().Header
	same(tb, "header of a part", line(h.Revision-base, h.ClusterId, h.MemberId, h.RaftTerm), "2 0 0 0")
	same(tb, "deleted", line(gone.Responses[1].GetResponseDeleteRange().Deleted, gone.Responses[2].GetResponseDeleteRange().Deleted, gone.Header.Revision-base), "1 0 2")
}

func leasesCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	a, b := ms[0], ms[1]
	ctx := within(tb)
	got, err := a.Grant(ctx, 1)
	ok(tb, err)
	same(tb, "the shortest", line(got.TTL, got.ID > 0, got.Error), line(s.minTTL(), true, ""))
	_, err = a.Revoke(ctx, got.ID)
	ok(tb, err)
	got, err = a.Grant(ctx, 1000)
	ok(tb, err)
	base := revision(tb, a)
	for _, key := range []string{"e1", "e2"} {
		_, err = b.Put(ctx, key, "", clientv3.WithLease(got.ID))
		ok(tb, err)
	}
	left, err := b.TimeToLive(ctx, got.ID, clientv3.WithAttachedKeys())
	ok(tb, err)
	slices.SortFunc(left.Keys, func(x, y []byte) int { return strings.Compare(string(x), string(y)) })
	same(tb, "time to live", line(left.ID == got.ID, left.GrantedTTL, left.TTL > 0, left.TTL <= 1000, string(left.Keys[0]), string(left.Keys[1])), "true 1000 true true e1 e2")
	for _, m := range ms {
		alive, err := m.KeepAliveOnce(ctx, got.ID)
		ok(tb, err)
		same(tb, "renewed", line(alive.TTL, alive.ID == got.ID), "1000 true")
	}
	held, err := a.Get(ctx, "e", clientv3.WithPrefix())
	ok(tb, err)
	same(tb, "held", text(base, held.Kvs), "e1=@1/1/1~ e2=@2/2/1~")
	_, err = b.Put(ctx, "e2", "", clientv3.WithIgnoreValue()) // without a lease now
	ok(tb, err)
	gone, err := b.Revoke(ctx, got.ID)
	ok(tb, err)
	same(tb, "revoked", gone.Header.Revision-base, 4)
	now, err := a.Get(ctx, "e", clientv3.WithPrefix())
	ok(tb, err)
	same(tb, "left", text(base, now.Kvs), "e2=@2/3/2")
	_, err = a.Delete(ctx, "e2")
	ok(tb, err)

	_, err = a.Revoke(ctx, got.ID)
	refused(tb, err, rpctypes.ErrLeaseNotFound)
	_, err = a.KeepAliveOnce(ctx, got.ID)
	refused(tb, err, rpctypes.ErrLeaseNotFound)
	_, err = a.Put(ctx, "e1", "", clientv3.WithLease(got.ID))
	refused(tb, err, rpctypes.ErrLeaseNotFound)
	left, err = b.TimeToLive(ctx, got.ID)
	ok(tb, err)
	same(tb, "of none", left.TTL, -1)
	_, err = a.Grant(ctx, maxLeaseTTL+1)
	refused(tb, err, rpctypes.ErrLeaseTTLTooLarge)
}

// A lease expires not before its time, and takes its keys with it.
func expiryCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	ctx := within(tb)
	begin := time.Now()
	got, err := ms[0].Grant(ctx, s.minTTL())
	ok(tb, err)
	put, err := ms[0].Put(ctx, "short", "lived", clientv3.WithLease(got.ID))
	if errors.Is(err, rpctypes.ErrLeaseNotFound) && time.Since(begin) > seconds(s.minTTL()) {
		expiryCase(tb, s) // the machine stood still
		return
	}
	ok(tb, err)
	for answer := range ms[1].Watch(ctx, "short", clientv3.WithRev(put.Header.Revision+1), clientv3.WithPrevKV()) {
		ok(tb, answer.Err())
		e, base := answer.Events[0], put.Header.Revision-1
		same(tb, "event", line(e.Type, text(base, []*mvccpb.KeyValue{e.Kv, e.PrevKv}), answer.Header.Revision-base), fmt.Sprintf("DELETE short=@%d/2/0 short=lived@1/1/1~ 2", -base))
		break
	}
	if took := time.Since(begin); took < seconds(s.minTTL()) {
		tb.Fatalf("expired after %v", took)
	}
	left, err := ms[2].TimeToLive(ctx, got.ID)
	ok(tb, err)
	same(tb, "of an expired one", left.TTL, -1)
}

// events renders the events of a watch until there are n.
func events(tb etcdtest.TB, base int64, n int, watch clientv3.WatchChan) string {
	tb.Helper()
	var out []string
	for answer := range watch {
		ok(tb, answer.Err())
		for _, e := range answer.Events {
			kv := text(base, []*mvccpb.KeyValue{e.Kv})
			if e.Type == mvccpb.DELETE {
				kv = fmt.Sprintf("-%s%s@%d", e.Kv.Key, e.Kv.Value, e.Kv.ModRevision-base)
				same(tb, "a deletion", line(e.Kv.CreateRevision, e.Kv.Version), "0 0")
			}
			if e.PrevKv != nil {
				kv += fmt.Sprintf("(%s)", text(base, []*mvccpb.KeyValue{e.PrevKv}))
			}
			out = append(out, kv)
		}
		if len(out) >= n {
			break
		}
	}
	return strings.Join(out, ", ")
}

func watchCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	ctx, cancel := context.WithCancel(within(tb))
	defer cancel()
	base := revision(tb, ms[0])
	live := ms[1].Watch(ctx, "w", clientv3.WithPrefix())
	future := ms[2].Watch(ctx, "w", clientv3.WithPrefix(), clientv3.WithRev(base+3))
	for _, key := range []string{"w1", "x", "w1"} {
		_, err := ms[0].Put(ctx, key, "v"+key)
		ok(tb, err)
	}
	_, err := ms[0].Txn(ctx).Then(clientv3.OpPut("w2", ""), clientv3.OpDelete("w1")).Commit()
	ok(tb, err)
	const all = "w1=vw1@1/1/1, w1=vw1@1/3/2(w1=vw1@1/1/1), w2=@4/4/1, -w1@4(w1=vw1@1/3/2)"
	same(tb, "from the past", events(tb, base, 4, ms[2].Watch(ctx, "w", clientv3.WithPrefix(), clientv3.WithRev(base+1), clientv3.WithPrevKV())), all)
	same(tb, "the future", events(tb, base, 3, future), "w1=vw1@1/3/2, w2=@4/4/1, -w1@4")
	same(tb, "as it happens", events(tb, base, 4, live), "w1=vw1@1/1/1, w1=vw1@1/3/2, w2=@4/4/1, -w1@4")
	cancel()
	for range live { // until it is closed
	}
	_, err = ms[0].Delete(within(tb), "w2")
	ok(tb, err)
}

func compactCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	ctx := within(tb)
	for range 5 {
		_, err := ms[0].Put(ctx, "c", "")
		ok(tb, err)
	}
	now := revision(tb, ms[0])
	done, err := ms[1].Compact(ctx, now-2)
	ok(tb, err)
	header(tb, ms[1], done.Header, now)
	_, err = ms[1].Compact(ctx, now-2)
	refused(tb, err, rpctypes.ErrCompacted)
	_, err = ms[1].Compact(ctx, now+1000)
	refused(tb, err, rpctypes.ErrFutureRev)
	for _, m := range ms {
		revision(tb, m) // so that it has applied the compaction
		_, err = m.Get(ctx, "c", clientv3.WithRev(now-3))
		refused(tb, err, rpctypes.ErrCompacted)
		_, err = m.Get(ctx, "c", clientv3.WithRev(now-2))
		ok(tb, err)
		answer := <-m.Watch(ctx, "c", clientv3.WithRev(now-3))
		refused(tb, answer.Err(), rpctypes.ErrCompacted)
		same(tb, "compacted", line(answer.CompactRevision, answer.Canceled), line(now-2, true))
		same(tb, "from the compaction", events(tb, now-2, 3, m.Watch(ctx, "c", clientv3.WithRev(now-2))), "c=@-2/0/3, c=@-2/1/4, c=@-2/2/5")
	}
}

// header states the header of an answer. The cluster service gives no revision.
func header(tb etcdtest.TB, m member, h *pb.ResponseHeader, revision int64) {
	tb.Helper()
	st := m.status(tb)
	same(tb, "header", line(h.ClusterId, h.MemberId, h.RaftTerm, h.Revision), line(st.Header.ClusterId, st.Header.MemberId, st.RaftTerm, revision))
}

func headersCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	m := ms[1]
	ctx := within(tb)
	now := revision(tb, m)
	same(tb, "header of a status", m.status(tb).Header.Revision, now)
	put, err := m.Put(ctx, "h", "")
	ok(tb, err)
	header(tb, m, put.Header, now+1)
	get, err := m.Get(ctx, "h")
	ok(tb, err)
	header(tb, m, get.Header, now+1)
	txn, err := m.Txn(ctx).Then(clientv3.OpGet("h")).Commit()
	ok(tb, err)
	header(tb, m, txn.Header, now+1)
	del, err := m.Delete(ctx, "h")
	ok(tb, err)
	header(tb, m, del.Header, now+2)
	grant, err := m.Grant(ctx, 1000)
	ok(tb, err)
	header(tb, m, grant.ResponseHeader, now+2)
	alive, err := m.KeepAliveOnce(ctx, grant.ID)
	ok(tb, err)
	header(tb, m, alive.ResponseHeader, now+2)
	left, err := m.TimeToLive(ctx, grant.ID)
	ok(tb, err)
	header(tb, m, left.ResponseHeader, now+2)
	gone, err := m.Revoke(ctx, grant.ID)
	ok(tb, err)
	header(tb, m, gone.Header, now+2)
	answer := <-m.Watch(ctx, "h", clientv3.WithRev(now+2))
	ok(tb, answer.Err())
	header(tb, m, answer.Header, now+2)
	list, err := m.MemberList(ctx)
	ok(tb, err)
	header(tb, m, list.Header, 0)
}
