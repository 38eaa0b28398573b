// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// mustBeAlarmed fails the test unless a change was refused because of the alarm.
func mustBeAlarmed(t *testing.T, what string, err error, kind string) {
	t.Helper()
	var refused *reconfigure.Refusal
	if !errors.As(err, &refused) || refused.Decision.Code != membership.AlarmRaised || refused.Decision.Facts.Detail != kind {
		t.Errorf("%s under the alarm %s: %v", what, kind, err)
	}
}

// leaveAlarmed removes a member and expects the warning.
func (b *bench) leaveAlarmed(t *testing.T, r reconfigure.LeaveRequest, kind string) {
	t.Helper()
	left, err := b.engine.Leave(etcdtest.WaitContext(t), r)
	if err != nil {
		t.Fatalf("removing under the alarm %s: %v", kind, err)
	}
	if !slices.ContainsFunc(left.Warnings, func(w membership.Warning) bool { return w.Code == membership.AlarmRaised && w.Facts.Detail == kind }) {
		t.Errorf("removed under the alarm %s with the warnings %+v", kind, left.Warnings)
	}
	if _, listed := named(b.members(t), r.Name); listed {
		t.Errorf("%s is still a member", r.Name)
	}
}

// Under a NOSPACE alarm no lock can be taken: a removal continues with a warning,
// an addition is refused, and so is a replacement, because it includes an addition.
func TestChangesUnderNoSpace(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{QuotaBytes: 1 << 20})
	r := b.leaveRequest(t, "infra3")
	client := b.Client(t)
	ctx := etcdtest.WaitContext(t)
	for i := 0; ; i++ {
		if _, err := client.Put(ctx, fmt.Sprint("fill", i), strings.Repeat("x", 100_000)); err != nil {
			break
		}
	}
	if alarms, err := client.AlarmList(ctx); err != nil || len(alarms.Alarms) == 0 {
		t.Fatalf("no alarm was raised: %v, %v", alarms, err)
	}
	_, err := b.engine.Join(etcdtest.WaitContext(t), request(b.NewJoiner(t, "d"), reconfigure.Announced))
	mustBeAlarmed(t, "adding", err, membership.AlarmNoSpace)
	replaced := r
	replaced.Replacement = true
	_, err = b.engine.Leave(etcdtest.WaitContext(t), replaced)
	mustBeAlarmed(t, "replacing", err, membership.AlarmNoSpace)
	b.leaveAlarmed(t, r, membership.AlarmNoSpace)
}

// Under a CORRUPT alarm the member that raised it is replaced, as etcd advises:
// its removal continues with a warning, and its successor is added once the
// alarm was disarmed. No other living member is replaced in the meantime.
func TestChangesUnderCorrupt(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: v})
			corrupt, other := b.leaveRequest(t, "infra3"), b.leaveRequest(t, "infra2")
			if b.Leader(t).Name == "infra2" { // the leader is the harder case
				corrupt, other = other, corrupt
			}
			client := b.Client(t)
			etcdtest.RaiseCorrupt(t, client, uint64(corrupt.ID))

			d := b.NewJoiner(t, "d")
			_, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
			mustBeAlarmed(t, "adding", err, membership.AlarmCorrupt)
			_, err = b.engine.UpdatePeerURLs(etcdtest.WaitContext(t), reconfigure.UpdateRequest{
				Owner: other.Owner, ID: other.ID, Cluster: other.Cluster, Name: other.Name, PeerURLs: []string{"http://127.0.0.1:1"},
			})
			mustBeAlarmed(t, "updating", err, membership.AlarmCorrupt)
			other.Replacement, corrupt.Replacement = true, true
			_, err = b.engine.Leave(etcdtest.WaitContext(t), other)
			mustBeAlarmed(t, "replacing another", err, membership.AlarmCorrupt)

			b.leaveAlarmed(t, corrupt, membership.AlarmCorrupt)
			_, err = b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
			mustBeAlarmed(t, "adding the successor", err, membership.AlarmCorrupt)
			if _, err := client.AlarmDisarm(etcdtest.WaitContext(t), &clientv3.AlarmMember{MemberID: uint64(corrupt.ID), Alarm: pb.AlarmType_CORRUPT}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced)); err != nil {
				t.Errorf("adding the successor after the alarm: %v", err)
			}
		})
	}
}
