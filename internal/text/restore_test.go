// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// TestRestoreTexts compares the texts about a restore with
// testdata/restore.txt. UPDATE=1 rewrites the file.
func TestRestoreTexts(t *testing.T) {
	const at = "https://10.0.0.1:2379"
	refused := func(code membership.Code, stated membership.ClusterID, snap membership.Snapshot, heard ...membership.Heard) Message {
		return NotGivenUp(&reconfigure.NotGivenUp{Cluster: 0x2b, Stated: stated, Decision: membership.Decision{Code: code}, Evidence: membership.Evidence{Snapshot: snap, Heard: heard}})
	}
	down := membership.Heard{Endpoint: "https://10.0.0.2:2379", Detail: "connection refused"}
	two := membership.Snapshot{ClusterID: 0x2b, Members: []membership.Member{{ID: 1, Name: "x"}, {ID: 2, Name: "y"}}}
	var b strings.Builder
	for _, m := range []Message{
		RestoreSnapshotInvalid("is neither a URL nor an absolute path"),
		RestoreSHA256Invalid("abc"),
		RestoreBumpInvalid,
		RestoreIgnored("2b"),
		RestoreRefused(membership.OtherConfirmed, "2b", "2a"),
		RestoreRefused(membership.SameIdentity, "2b", "2b"),
		RestoreRefused(membership.ConfirmationUnknown, "2b", ""),
		RestoreRefused(membership.SnapshotUnknown, "2b", "2b"),
		refused(membership.HasQuorum, 0x2b, two, membership.Heard{Endpoint: at, Detail: "serves requests"}, down),
		refused(membership.MayServe, 0x2b, membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
		refused(membership.NotStated, 0, membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "no answer in time"}, down),
		refused(membership.NotStated, 0x2c, membership.Snapshot{}),
		NotGivenUp(context.Canceled),
		InvalidClusterLost("true"),
		RestorePlanned("2b", []string{"a", "b"}, 4711),
		RestorePlanned("2b", nil, 4711),
		AbandonedStays("d", "2b"),
	} {
		mustBeShort(t, m)
		b.WriteString("# " + m.Summary + "\n" + m.Detail + "\n\n")
	}
	mustBeGolden(t, "restore.txt", b.String())
}
