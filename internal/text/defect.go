// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// harm says what the defects may do, by their source.
var harm = map[string]string{
	"etcd-io/etcd#13908":  "the data of members may differ after a crash",
	"etcd-io/etcd#14648":  "with authentication, the data of members may differ after a snapshot",
	"etcd-io/etcd#14733":  "the data of members may differ after a crash in a defragmentation",
	"etcd-io/etcd#17865":  "the revision may go back after a crash in a compaction",
	"etcd-io/etcd#20653":  "a defragmentation while a snapshot arrives may corrupt the data",
	"etcd-io/etcd#14899":  "a transaction that only reads may stop the member",
	"etcd-io/etcd#18842":  "an error in a defragmentation stops the member",
	"etcd-io/etcd#20051":  "a promotion may stop the member",
	"etcd-io/etcd#20387":  "a member may not start again after a promotion",
	"CVE-2023-32082":      "a user can list the keys of leases",
	"CVE-2026-33413":      "a client without a user can list the members, raise alarms and use leases",
	"CVE-2026-33343":      "a user can read and write every key with nested transactions",
	"CVE-2026-44283":      "a user can read keys and attach leases with transactions",
	"GHSA-xg4h-6gfc-h4m8": "a user who may read one key can watch all keys after it",
	"etcd-io/etcd#22386":  "while the alarm NOSPACE is raised, a user can delete every key and disable authentication",
}

// defects returns what is known about a version: the harm of each defect with its source,
// and the version that has none of them.
func defects(version string, bypasses bool) map[string]any {
	sources, fixed := membership.DefectsOf(version, bypasses)
	var said []string
	for _, source := range sources {
		said = append(said, harm[source]+" ("+source+")")
	}
	return map[string]any{"defects": strings.Join(said, "; "), "fixed": fixed}
}
