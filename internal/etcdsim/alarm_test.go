// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// alarmsCase raises alarms and disarms them again.
func alarmsCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	m, other := ms[0], ms[1].id(tb)
	raise := func(alarm pb.AlarmType) *pb.AlarmResponse {
		tb.Helper()
		got, err := m.maintenance(tb).Alarm(within(tb), &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: other, Alarm: alarm})
		ok(tb, err)
		return got
	}
	disarm := func(alarm pb.AlarmType) string {
		tb.Helper()
		got, err := m.AlarmDisarm(within(tb), &clientv3.AlarmMember{MemberID: other, Alarm: alarm})
		ok(tb, err)
		return named(got.Alarms)
	}
	one := func(alarm pb.AlarmType) string { return named([]*pb.AlarmMember{{MemberID: other, Alarm: alarm}}) }

	lease, err := m.Grant(within(tb), 1000)
	ok(tb, err)
	_, err = m.Put(within(tb), "alarm", "")
	ok(tb, err)
	for range 2 {
		got := raise(pb.AlarmType_NOSPACE)
		same(tb, "raised", named(got.Alarms), one(pb.AlarmType_NOSPACE))
		header(tb, m, got.Header, revision(tb, m))
	}
	for _, on := range ms {
		listed, err := on.AlarmList(within(tb))
		ok(tb, err)
		same(tb, "listed", named((*pb.AlarmResponse)(listed).Alarms), one(pb.AlarmType_NOSPACE))
		same(tb, "status", complains(on.status(tb), other, "NOSPACE"), true)
	}
	writes(tb, m, lease.ID, map[string]error{"put": rpctypes.ErrNoSpace, "transaction that may put": rpctypes.ErrNoSpace, "grant": rpctypes.ErrNoSpace})
	same(tb, "disarmed", disarm(pb.AlarmType_NOSPACE), one(pb.AlarmType_NOSPACE))
	same(tb, "disarmed again", disarm(pb.AlarmType_NOSPACE), "")
	writes(tb, m, lease.ID, nil)

	raise(pb.AlarmType_CORRUPT)
	writes(tb, m, lease.ID, map[string]error{
		"put": rpctypes.ErrCorrupt, "transaction that may put": rpctypes.ErrCorrupt, "transaction that deletes": rpctypes.ErrCorrupt,
		"delete": rpctypes.ErrCorrupt, "grant": rpctypes.ErrCorrupt, "revoke": rpctypes.ErrCorrupt, "compact": rpctypes.ErrCorrupt,
	})
	raise(pb.AlarmType_NOSPACE)
	same(tb, "both", complains(m.status(tb), other, "NOSPACE") && complains(m.status(tb), other, "CORRUPT"), true)
	disarm(pb.AlarmType_CORRUPT)
	disarm(pb.AlarmType_NOSPACE)
	writes(tb, m, lease.ID, nil)
	_, err = m.Revoke(within(tb), lease.ID)
	ok(tb, err)
}

func named(alarms []*pb.AlarmMember) string {
	var out []string
	for _, a := range alarms {
		out = append(out, fmt.Sprint(a.MemberID, a.Alarm))
	}
	return strings.Join(out, " ")
}

// complains reports whether a status names the alarm of a member. Later versions put more
// than one space between the two, now and then.
func complains(status *clientv3.StatusResponse, id uint64, alarm string) bool {
	for _, e := range status.Errors {
		if strings.Join(strings.Fields(e), " ") == fmt.Sprintf("memberID:%d alarm:%s", id, alarm) {
			return true
		}
	}
	return false
}

// writes sends writes and reads, and compares the errors with those given by name.
func writes(tb etcdtest.TB, m member, lease clientv3.LeaseID, want map[string]error) {
	tb.Helper()
	ctx := within(tb)
	now := revision(tb, m)
	txn := func(op clientv3.Op) error {
		_, err := m.Txn(ctx).If(clientv3.Compare(clientv3.Version("none"), "=", 0)).Then(clientv3.OpGet("alarm")).Else(op).Commit()
		return err
	}
	for name, f := range map[string]func() error{
		"read":                     func() error { _, err := m.Get(ctx, "alarm"); return err },
		"read here":                func() error { _, err := m.Get(ctx, "alarm", clientv3.WithSerializable()); return err },
		"put":                      func() error { _, err := m.Put(ctx, "alarm", ""); return err },
		"transaction that reads":   func() error { return txn(clientv3.OpGet("none")) },
		"transaction that may put": func() error { return txn(clientv3.OpPut("none", "")) },
		"transaction that deletes": func() error { return txn(clientv3.OpDelete("none")) },
		"delete":                   func() error { _, err := m.Delete(ctx, "none"); return err },
		"grant":                    func() error { _, err := m.Grant(ctx, 1000); return err },
	} {
		if err := f(); !errors.Is(err, want[name]) {
			tb.Fatalf("%s: %v, want %v", name, err, want[name])
		}
	}
	if err := want["revoke"]; err != nil {
		_, got := m.Revoke(ctx, lease)
		refused(tb, got, err)
		_, got = m.Compact(ctx, now)
		refused(tb, got, want["compact"])
	}
}
