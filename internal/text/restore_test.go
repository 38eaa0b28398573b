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
	var why membership.RestoreAction
	refused := func(code membership.Code, stated string, snap membership.Snapshot, heard ...membership.Heard) Message {
		return NotGivenUp(&reconfigure.NotGivenUp{Request: membership.GiveUpRequest{Cluster: 0x2b, Gone: strings.Fields(stated)}, Decision: membership.Decision{Code: code, Facts: membership.Facts{Names: []string{"c", "b"}}}, Evidence: membership.Evidence{Snapshot: snap, Heard: heard}}, why)
	}
	down := membership.Heard{Endpoint: "https://10.0.0.2:2379", Detail: "connection refused"}
	two := membership.Snapshot{ClusterID: 0x2b, Members: []membership.Member{{ID: 1, Name: "x"}, {ID: 2, Name: "y"}}}
	all := []Message{
		RestoreSnapshotInvalid("is neither a URL nor an absolute path"),
		RestoreBumpInvalid,
		NotGivenUp(context.Canceled, why),
		InvalidClusterLost("true"),
	}
	for _, why = range []membership.RestoreAction{membership.RestoreNow, membership.RestoreOnTheWay, membership.RestoreWithdrawn} {
		all = append(all,
			refused(membership.HasQuorum, "", two, membership.Heard{Endpoint: at, Detail: "serves requests"}, down),
			refused(membership.Contradicted, "b c", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
			refused(membership.MayServe, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
			refused(membership.NotStated, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "no answer in time"}, down),
			refused(membership.NotStated, "b d", membership.Snapshot{}),
		)
	}
	var b strings.Builder
	for _, m := range all {
		mustBeShort(t, m)
		b.WriteString("# " + m.Summary + "\n" + m.Detail + "\n\n")
	}
	mustBeGolden(t, "restore.txt", b.String())
}
