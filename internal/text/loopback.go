// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// LoopbackInitialMember returns the error for an initial member with a loopback URL
// if another member has none.
func LoopbackInitialMember(name, url, other string) Message {
	return newMessage("An initial member that the others cannot reach",
		"%s of %s can be reached on its own machine only, and %s is elsewhere. Give the URL at which the others reach %s.", url, name, other, name)
}
