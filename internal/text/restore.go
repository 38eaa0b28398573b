// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// RestoreSnapshotInvalid returns the error for an invalid location of a snapshot.
// The message omits the value, which may be a secret. problem ends a sentence.
var RestoreSnapshotInvalid = of1[string]("Invalid snapshot",
	"restore.snapshot %s.\n\nGive an https:// or http:// URL, or the absolute path of the file on every machine of an initial member.")

// RestoreBumpInvalid is the error if only one of revision_bump and
// mark_compacted is set.
var RestoreBumpInvalid = New("Invalid revision_bump",
	"etcdutl takes revision_bump and mark_compacted together, or neither of them.\n\n"+
		"Set revision_bump to more than 0 and mark_compacted = true, or leave out both.")
