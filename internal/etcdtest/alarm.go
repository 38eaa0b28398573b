// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// RaiseCorrupt raises the alarm CORRUPT for a member, as the member itself does
// when it finds that its data differs from that of the others. clientv3 cannot
// raise alarms.
func RaiseCorrupt(tb testing.TB, client *clientv3.Client, member uint64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	_, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, MemberID: member, Alarm: pb.AlarmType_CORRUPT,
	})
	if err != nil {
		tb.Fatalf("raising the alarm CORRUPT: %v", err)
	}
}
