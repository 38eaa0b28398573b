// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

// Verdict is what a registry's answer says about the cluster of a token.
type Verdict int

const (
	// Unknown: the cluster may have formed. It is the zero value.
	Unknown Verdict = iota
	// Unformed: fewer members have registered than any size of the token asks
	// for, so none of them has formed the cluster.
	Unformed
	// Formed: every initial member has registered.
	Formed
)

// Judge decides from the answer of [Registry.Status]. least is the least size
// that the token is known to have had: members that registered while it held
// have formed their cluster, whatever the registry says now.
//
// Only an answer about this token is evidence. A token that the registry does
// not have may have been complete before it was removed, and an error says
// nothing.
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
