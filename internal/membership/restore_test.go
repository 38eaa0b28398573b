// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership_test

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// mayRestore, mayWithdraw and goesOn state what a plan may do, each by itself.
func mayRestore(r membership.RestoreRequest) bool {
	confirmed := r.Confirmed != 0 && !r.Unknown && r.Confirmed == r.Cluster && r.Confirmed != r.Replaced
	return confirmed && r.Before == 0 && r.SnapshotKnown && !r.NamesMissing
}

func mayWithdraw(r membership.RestoreRequest) bool {
	return !r.Unknown && r.Before != 0 && (r.Confirmed == 0 || r.Confirmed == r.BeforeReplaced)
}

func goesOn(r membership.RestoreRequest) bool {
	return !r.Unknown && r.Before != 0 && r.Confirmed == r.Before && r.Confirmed != r.BeforeReplaced && !r.SnapshotChanged
}

func changesNothing(r membership.RestoreRequest) bool {
	return !r.Unknown && r.Before == 0 && (r.Confirmed == 0 || r.Confirmed == r.Replaced)
}

// TestDecideRestore compares the decision with the statements above, for each request with
// up to three clusters. A refusal names something that is true of the request.
func TestDecideRestore(t *testing.T) {
	t.Parallel()
	wrong := map[membership.Code]func(membership.RestoreRequest) bool{
		membership.ConfirmationUnknown: func(r membership.RestoreRequest) bool { return r.Unknown },
		membership.OtherConfirmed:      func(r membership.RestoreRequest) bool { return r.Confirmed != r.Cluster && r.Confirmed != 0 },
		membership.SnapshotUnknown:     func(r membership.RestoreRequest) bool { return !r.SnapshotKnown },
		membership.NamesMissing:        func(r membership.RestoreRequest) bool { return r.NamesMissing },
		membership.StillOnTheWay: func(r membership.RestoreRequest) bool {
			return r.Before != 0 && (r.Confirmed == r.Cluster || r.Confirmed == r.Before && r.SnapshotChanged)
		},
	}
	seen := map[membership.Code]bool{}
	ids := []membership.ClusterID{0, 1, 2, 3}
	for n := range 4 * 4 * 4 * 4 * 4 * 16 {
		r := membership.RestoreRequest{
			Cluster: ids[n%4], Replaced: ids[n/4%4], Before: ids[n/16%4], BeforeReplaced: ids[n/64%4], Confirmed: ids[n/256%4],
			Unknown: n/1024%2 == 1, SnapshotKnown: n/2048%2 == 1, SnapshotChanged: n/4096%2 == 1, NamesMissing: n/8192 == 1,
		}
		want := membership.RestoreRefused
		for action, is := range map[membership.RestoreAction]func(membership.RestoreRequest) bool{
			membership.RestoreNow: mayRestore, membership.RestoreWithdrawn: mayWithdraw,
			membership.RestoreOnTheWay: goesOn, membership.RestoreNothing: changesNothing,
		} {
			if !is(r) {
				continue
			}
			if want != membership.RestoreRefused {
				t.Fatalf("%+v: two statements are true", r)
			}
			want = action
		}
		got, code := membership.DecideRestore(r)
		if got != want || (code != "") != (want == membership.RestoreRefused) || code != "" && !wrong[code](r) {
			t.Fatalf("%+v: %v %q, want %v", r, got, code, want)
		}
		seen[code] = true
	}
	if len(seen) != len(wrong)+1 {
		t.Errorf("codes %v", seen)
	}
}
