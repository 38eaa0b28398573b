// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// LoopbackInitialMember returns the error for an initial member with a loopback URL
// if another member has none.
var LoopbackInitialMember = of3[string, string, string]("An initial member that the others cannot reach",
	"%[2]s of %[1]s can be reached on its own machine only, and %[3]s is elsewhere. Give the URL at which the others reach %[1]s.")
