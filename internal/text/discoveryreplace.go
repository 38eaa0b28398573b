// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// DiscoveryBootstrapped returns the error for the replacement (or change) of a
// token whose cluster has formed. doing is "replace" or "change".
func DiscoveryBootstrapped(doing string, names []string) Message {
	who := registered(names)
	if len(names) == 0 {
		who = "all initial members have registered"
	}
	return New("Cannot "+doing+" the discovery token",
		"The bootstrap is complete: %s. A token serves one cluster. With another token, initial members would form a second cluster. "+
			"Nothing was changed.\n\n"+untaint+"\n\n"+
			"Otherwise plan without -replace for this resource, and with a refresh. A change of its arguments has no effect then:\n\n  terraform plan\n\n"+
			"If the cluster is gone for good"+startOver,
		who)
}

// DiscoveryMayHaveFormed returns the error for the replacement (or change) of a
// token whose cluster may have formed. why is a whole sentence.
var DiscoveryMayHaveFormed = of2[string, string]("Cannot %[1]s the discovery token",
	"It is not known whether the cluster of this token has formed. %[2]s If it has formed, its members would be replaced by a second cluster. "+
		"Nothing was changed.\n\n"+untaint+"\n\n"+
		"If only the discovery cluster is unreachable, make it reachable from here and plan again; or undo the change of this resource:\n\n  terraform plan\n\n"+
		"If the cluster never formed, or is gone for good"+startOver)

// DiscoveryEndpointsLater explains why a plan cannot ask a discovery cluster.
var DiscoveryEndpointsLater = "The configuration of the provider depends on values that are known after apply only, so the discovery cluster cannot be asked."

// DiscoveryTokenGone explains what a token missing from a discovery cluster means.
var DiscoveryTokenGone = "The discovery cluster answers and does not have the token, which may have been complete before it was removed there."

// DiscoverySizeDoubtful explains why the registrations are not evidence.
func DiscoverySizeDoubtful(least int, names []string) string {
	return sprintf("The size of the token was changed in the discovery cluster. It was %d before, and %s.", least, registered(names))
}

// DiscoverySilent explains that there is no usable answer.
func DiscoverySilent(err error) string {
	return "The discovery cluster gave no usable answer: " + answered(err) + "."
}
