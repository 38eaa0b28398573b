// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

// Verdict is a conclusion about the cluster of a token.
type Verdict int

const (
	// Unknown: the cluster may have formed. This is the zero value.
	Unknown Verdict = iota
	// Unformed: fewer members have registered than the smallest size of the
	// token, so none of them has formed the cluster.
	Unformed
	// Formed: every initial member has registered.
	Formed
)

// Judge decides from the answer of [Registry.Status]. least is the smallest
// size that the token is known to have had. Members that registered while the
// token had that size have formed their cluster, even if the size differs now.
//
// Only an answer about this token is evidence. A token that no longer exists
// may have been complete before it was deleted, and an error says nothing.
func Judge(s Status, err error, least int) Verdict {
	switch {
	case err == nil && s.Complete():
		return Formed
	case err != nil && !is[*BadSizeError](err):
		return Unknown
	case len(s.Members) < least:
		return Unformed
	default:
		return Unknown
	}
}
