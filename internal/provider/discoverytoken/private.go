// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

// Flags in the resource's private state.
const (
	// flagRemoval: a removal is planned, not a part of a replacement.
	flagRemoval = "removal"
	// flagUnsure: it is not known whether the token was written.
	flagUnsure = "unsure"
	// flagUnwritten: the token was unsure, and the discovery cluster does not have it.
	flagUnwritten = "unwritten"
)

// Values in the resource's private state.
const (
	// keyRecord holds the [record] of the token in the state.
	keyRecord = "record"
	// keyLeast holds the smallest known size that the token has had.
	keyLeast = "least"
)
