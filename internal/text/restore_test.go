// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// TestRestoreTexts compares the texts about a restore with
// testdata/restore.txt. UPDATE=1 rewrites the file.
func TestRestoreTexts(t *testing.T) {
	const at = "https://10.0.0.1:2379"
	denied := &connection.Unreachable{Answers: []connection.Answer{{Endpoint: at, Err: &connection.Error{Endpoint: at, Kind: connection.PermissionDenied, Err: errors.New("the original error")}}}}
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
		RestoreQuorum(two),
		RestoreUnasked("2b", denied),
		RestorePlanned("2b", []string{"a", "b"}, 4711),
		RestorePlanned("2b", nil, 4711),
		AbandonedStays("d", "2b"),
		AbandonedHasQuorum("a", two),
	} {
		mustBeShort(t, m)
		b.WriteString("# " + m.Summary + "\n" + m.Detail + "\n\n")
	}
	mustBeGolden(t, "restore.txt", b.String())
}
