// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

func TestLockTexts(t *testing.T) {
	const key = "/_terraform/etcd/cdf818194e3a8c32/lock"
	bob := claim.Holder{Who: "bob@ops2", PID: 12, Run: "x", Since: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC), Doing: "add member e"}
	ours := claim.Entry{Key: key, Value: `{"who":"bob@ops2","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`}
	foreign := claim.Entry{Key: key, Value: "hands off", Forever: true}
	lost := func(l reconfigure.LockLost) error {
		l.Action, l.Name = "add", "d"
		return &l
	}
	gone := &claim.LostError{Key: key}
	full := membership.Snapshot{
		Members: []membership.Member{{ID: 0xa1, Name: "a"}},
		Answers: map[membership.MemberID]membership.Answer{0xa1: {State: membership.Answered}},
	}
	for _, test := range []struct {
		name string
		got  Message
		want Message
	}{
		{
			"held by another run",
			Explain("remove", "d", &claim.BusyError{Holder: bob, Entry: ours, Waited: 5 * time.Minute, Err: context.DeadlineExceeded}),
			Message{"Cannot remove member d", "Another run is changing this cluster: bob@ops2 (process 12, since 2026-11-21T01:02:03Z, to add member e) holds the lock on membership changes. " +
				"This run waited for 5m0s, and nothing was changed. Let that run end, then apply again. If it was killed, its lock expires by itself 20s after its last sign of life."},
		},
		{
			"held by something else",
			Explain("add", "d", &reconfigure.Incomplete{Cause: &claim.BusyError{Entry: foreign, Err: claim.ErrForever}}),
			Message{"Cannot add member d", `The lock on membership changes is held by the process that wrote "hands off" to /_terraform/etcd/cdf818194e3a8c32/lock, and it does not expire: ` +
				"it has no time to live, so this provider did not make it. Nothing was changed. If no other run is active, delete it, then apply again:\n\n  " +
				"etcdctl del /_terraform/etcd/cdf818194e3a8c32/lock"},
		},
		{
			"interrupted while waiting",
			Explain("add", "d", &claim.BusyError{Entry: ours, Err: context.Canceled}),
			Message{"Cannot add member d", "The operation was interrupted. What was added is recorded in the cluster, and the next apply continues."},
		},
		{
			"behind another change of this run",
			Explain("remove", "d", &reconfigure.Queued{Behind: "add member e", Err: context.DeadlineExceeded}),
			Message{"Cannot remove member d", "The time allowed for it ran out while this run was busy with another change of the cluster (add member e); members change one at a time. " +
				"Nothing was changed for this one. Apply again; or allow more time (timeouts)."},
		},
		{
			"lost, the list not readable",
			Explain("add", "d", lost(reconfigure.LockLost{Lost: &claim.LostError{Key: key, Late: 41 * time.Second, Err: errors.New("no endpoint answered")}})),
			Message{"Cannot add member d", "This run lost the lock on membership changes: it could not be renewed for 41s (no endpoint answered). " +
				"That happens when its process or its machine stands still. It stopped before its next step. The member list could not be read afterwards. Apply again: it carries on from there."},
		},
		{
			"lost, not in the list",
			Explain("add", "d", lost(reconfigure.LockLost{Lost: gone, Checked: true})),
			Message{"Cannot add member d", "This run lost the lock on membership changes: it is gone. That happens when its process or its machine stands still. " +
				"It stopped before its next step. d is not in the member list now. Apply again: it carries on from there."},
		},
		{
			"lost to another run, a learner in the list",
			Explain("add", "d", lost(reconfigure.LockLost{Lost: &claim.LostError{Key: key, Now: &ours}, Checked: true, Listed: true, Member: membership.Member{ID: 0xd4, Learner: true}})),
			Message{"Cannot add member d", "This run lost the lock on membership changes: bob@ops2 (process 12, since 2026-11-21T01:02:03Z, to add member e) holds it now. " +
				"That happens when its process or its machine stands still. It stopped before its next step. According to the member list d (d4) is a learner now. Apply again: it carries on from there."},
		},
		{
			"lost, a voter in the list",
			Explain("remove", "d", lost(reconfigure.LockLost{Lost: gone, Checked: true, Listed: true, Member: membership.Member{ID: 0xd4}})),
			Message{"Cannot remove member d", "This run lost the lock on membership changes: it is gone. That happens when its process or its machine stands still. " +
				"It stopped before its next step. According to the member list d (d4) is a voter now. Apply again: it carries on from there."},
		},
		{
			"waited for long",
			LockWaited("d", reconfigure.Waited{Holder: bob, For: 42 * time.Second}),
			Message{"Waited for another run before changing member d",
				"For 42s the lock on membership changes was held by bob@ops2 (process 12, since 2026-11-21T01:02:03Z, to add member e). Members change one at a time."},
		},
		{
			"an update under a NOSPACE alarm",
			refused("update", "d", membership.Decision{Code: membership.AlarmRaised, Facts: membership.Facts{Others: []membership.MemberID{0xa1}, Detail: "NOSPACE"}}, full),
			Message{"Cannot update member d", "a (a1) raised the alarm NOSPACE: a database has reached its quota. Nothing can be written until the alarm is disarmed, so this change could not be guarded against other Terraform runs. " +
				"Nothing was changed. First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes. Then disarm the alarm and apply again:\n\n  etcdctl alarm disarm"},
		},
	} {
		if test.got != test.want {
			t.Errorf("%s:\ngot  %s\n     %s\nwant %s\n     %s", test.name, test.got.Summary, test.got.Detail, test.want.Summary, test.want.Detail)
		}
	}
}
