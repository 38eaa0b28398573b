// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

// TestDecideRestore compares DecideRestore with a naive form of its rule, over
// every request that names up to three clusters.
func TestDecideRestore(t *testing.T) {
	t.Parallel()
	ids := []ClusterID{0, 1, 2, 3}
	bools := []bool{false, true}
	went, refused := 0, 0
	for _, inState := range bools {
		for _, unknown := range bools {
			for _, snapshot := range bools {
				for _, same := range bools {
					for _, cluster := range ids {
						for _, replaced := range ids {
							for _, confirmed := range ids {
								if !inState && (cluster != 0 || replaced != 0) {
									continue
								}
								r := RestoreRequest{inState, cluster, replaced, confirmed, unknown, snapshot, same}
								asks := unknown || confirmed != 0 && (!inState || confirmed != replaced)
								may := !unknown && snapshot && !same && (!inState || confirmed == cluster)
								d := DecideRestore(r)
								want := Done
								if asks && may {
									want = Go
									went++
								} else if asks {
									want = Refuse
									refused++
								}
								if d.Verdict != want || (want == Refuse) != (d.Code != "") {
									t.Fatalf("%+v: %v %q, want %v", r, d.Verdict, d.Code, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if went == 0 || refused == 0 {
		t.Fatalf("%d go, %d are refused", went, refused)
	}
	for code, r := range map[Code]RestoreRequest{
		ConfirmationUnknown: {InState: true, Cluster: 1, Unknown: true, SnapshotKnown: true},
		OtherConfirmed:      {InState: true, Cluster: 1, Confirmed: 2, SameToken: true},
		SnapshotUnknown:     {InState: true, Cluster: 1, Confirmed: 1, SameToken: true},
		SameIdentity:        {InState: true, Cluster: 1, Confirmed: 1, SnapshotKnown: true, SameToken: true},
	} {
		if d := DecideRestore(r); d.Code != code {
			t.Errorf("%+v: %q, want %q", r, d.Code, code)
		}
	}
}
