// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Test a record of a replacement that never ends, which any user with write
// permission can create. The text names its key, as one word of a command.
func TestTurnsWayOutNamesTheKey(t *testing.T) {
	t.Parallel()
	got := turnsWayOut([]membership.Turn{{Name: "b", Key: "/_terraform/etcd/1f/turns/b"}, {Name: "x; reboot", Key: "/_terraform/etcd/1f/turns/x; reboot"}})
	const want = "\n\nIf no configuration has them any more, or no run of this provider wrote the record of its removal, delete the record:\n" +
		"\n  etcdctl del /_terraform/etcd/1f/turns/b\n  etcdctl del '/_terraform/etcd/1f/turns/x; reboot'"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got %q", got)
	}
}
