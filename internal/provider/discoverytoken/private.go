// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

// Flags in the resource's private state.
const (
	// flagRemoval: what is planned is a removal, not a part of a replacement.
	flagRemoval = "removal"
	// flagUnsure: it is not known whether the token was written.
	flagUnsure = "unsure"
	// flagUnwritten: the token was unsure, and the registry has it not.
	flagUnwritten = "unwritten"
)

// Values in the resource's private state.
const (
	// keyRecord holds the [record] of the token that is in the state.
	keyRecord = "record"
	// keyLeast holds the least size that the token has had, as far as is known.
	keyLeast = "least"
)
