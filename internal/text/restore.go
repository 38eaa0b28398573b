// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// RestoreSnapshotInvalid returns the error for an invalid location of a snapshot.
// The message omits the value, which may be a secret. problem ends a sentence.
func RestoreSnapshotInvalid(problem string) Message {
	return newMessage("Invalid snapshot",
		"restore.snapshot %s.\n\nGive an https:// or http:// URL, or the absolute path of the file on every machine of an initial member.", problem)
}

// RestoreSHA256Invalid returns the error for an invalid SHA-256.
func RestoreSHA256Invalid(value string) Message {
	return newMessage("Invalid SHA-256",
		"restore.sha256 = %q is not 64 hexadecimal digits.\n\nGive what sha256sum prints for the file, or the sha256 of an etcd_snapshot.", value)
}

// RestoreBumpInvalid is the error if only one of revision_bump and
// mark_compacted is set.
var RestoreBumpInvalid = newMessage("Invalid revision_bump",
	"etcdutl takes revision_bump and mark_compacted together, or neither of them.\n\n"+
		"Set revision_bump to more than 0 and mark_compacted = true, or leave out both.")
