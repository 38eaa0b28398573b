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
	refused := func(code membership.Code, stated string, snap membership.Snapshot, heard ...membership.Heard) Message {
		return NotGivenUp(&reconfigure.NotGivenUp{Request: membership.GiveUpRequest{Cluster: 0x2b, Gone: strings.Fields(stated)}, Decision: membership.Decision{Code: code, Facts: membership.Facts{Names: []string{"c", "b"}}}, Evidence: membership.Evidence{Snapshot: snap, Heard: heard}})
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
		refused(membership.HasQuorum, "", two, membership.Heard{Endpoint: at, Detail: "serves requests"}, down),
		refused(membership.Contradicted, "b c", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
		refused(membership.MayServe, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
		refused(membership.NotStated, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "no answer in time"}, down),
		refused(membership.NotStated, "b d", membership.Snapshot{}),
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
