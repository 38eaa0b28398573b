// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import "slices"

// DiscoveryTokenExists returns the error for a token that already exists. size
// is 0 if it is not a number.
func DiscoveryTokenExists(token, prefix string, size int, importID string) Message {
	what := sprintf("for size %d", size)
	if size == 0 {
		what = "with a size that is not a number"
	}
	return New("The discovery token exists already",
		"Token %s is in the discovery cluster under %s, %s. A token serves one cluster only, so it is not adopted. Nothing was changed. "+
			"If it is yours, import it with the ID %q, with the token in place of TOKEN. Otherwise apply again: the provider makes another token.",
		begun(token), prefix, what, importID)
}

// DiscoveryOccupied returns the error for a new token among keys of another
// program. others describes the keys.
var DiscoveryOccupied = of3[string, string, string]("The discovery token's place is not empty",
	"Below %[2]s/%[1]s/ %[3]s. A token is created only where no other key exists. Nothing was changed.\n\n"+
		"Choose another prefix, or apply again: the provider makes another token.")

// DiscoveryLeft returns the warning for the keys that outlive a token (others).
var DiscoveryLeft = of3[string, string, string]("Keys were left below the discovery token",
	"Token %[1]s and its registrations are gone from the discovery cluster. Below %[2]s/%[1]s/ %[3]s. They were not created with the token and were not deleted.")

// DiscoveryNoEndpoints is the error if the provider has no discovery endpoints.
var DiscoveryNoEndpoints = New("No discovery cluster to ask",
	"The provider of this resource has no endpoints. Set endpoints in the provider block that the resource uses, or the environment variable ETCDCTL_ENDPOINTS, "+
		"to the client URLs of the etcd that holds the token.")

// asked is like [of2] for a text that ends with what each endpoint answered.
func asked(summary, detail string) func(what string, err error) Message {
	return func(what string, err error) Message { return New(summary, detail+"%[2]s", what, own(answers(err))) }
}

// DiscoveryUnreachable returns the error if no endpoint gave a usable answer.
// doing is the attempt, such as "create the token". Nothing was written.
var DiscoveryUnreachable = asked("The discovery cluster does not answer",
	"Cannot %s; nothing was changed. Check that the discovery cluster runs and can be reached from here, then apply again.")

// DiscoveryDenied returns the error for refused credentials. permission is the
// required permission on the prefix, "read" or "readwrite".
func DiscoveryDenied(doing, answer, permission, prefix string) Message {
	return New("The discovery cluster denies access",
		"Cannot %s; nothing was changed. %s.\n\nCheck username and password of the provider. %s",
		doing, answer, own(grantPrefix(permission, prefix+"/")))
}

// DiscoveryFailed returns the error for any other failure.
var DiscoveryFailed = of2[string, error]("Discovery failed",
	"Cannot %s: %v. Fix what the discovery cluster reports, then apply again.")

// DiscoveryUnsure returns the warning that a token may or may not have been written.
var DiscoveryUnsure = asked("Not known whether the token was written",
	"The discovery cluster took the request for token %.8s and did not answer. The token is kept in the state, so that no second one is made: the next plan looks for it, "+
		"and the next apply writes it if it is missing. Until then machines that start with it may exit with \"size key not found\" and start again.")

// DiscoveryUnwritten returns the warning that an unsure token is missing and
// that this apply writes it.
var DiscoveryUnwritten = of1[string]("The token was not written last time",
	"The discovery cluster answers now and has no token %.8s. This plan writes it, under the same name.")

// DiscoveryVanished returns the warning for a token that was removed before it
// was known to be complete.
var DiscoveryVanished = of3[string, string, int]("Discovery token removed from the discovery cluster",
	"Token %.8s is no longer under %s. At the last refresh it was not complete (size %d). It is kept in the state, because the cluster may have formed since then. "+
		"If it has formed, no action is needed. If it has not, members that wait on the token cannot form it.\n\n"+
		"If the cluster never formed, or is gone for good"+startOver)

// DiscoverySizeOverwritten returns the warning for a changed size.
var DiscoverySizeOverwritten = of3[string, int, int]("The size of the discovery token was changed",
	"Token %.8[1]s was made for size %[3]d and says %[2]d now. Members go by what it says. As long as fewer than both have registered, the plan replaces the token; "+
		"find out which program writes to the discovery cluster.")

// DiscoverySizeBad returns the warning for a size that is not a number.
var DiscoverySizeBad = of2[string, string]("Discovery token has an invalid size",
	"Token %.8s says %q where its size should be. Members that start with it exit with \"discovery: size key is bad\". The plan replaces the token, unless all may have registered before.")

// DiscoveryReadSkipped returns the warning that a refresh could not read the token.
var DiscoveryReadSkipped = asked("Discovery token not checked", "What the state says of token %.8s is kept as it is.")

// DiscoveryCompleted returns the error for the replacement of a token that was
// completed after the plan.
func DiscoveryCompleted(token string, names []string) Message {
	return New("The discovery token is complete",
		"Token %s was incomplete when this plan was made; since then %s. Their cluster has formed, so the token is not replaced, and nothing was changed. "+
			"Plan again:\n\n  terraform plan",
		begun(token), registered(names))
}

// registered says which initial members have registered.
func registered(names []string) own {
	return own(sprintf("%d %s registered: %s", len(names), plural(len(names), "has", "have"), listed(slices.Sorted(slices.Values(names)))))
}

// DiscoveryDestroyIncomplete returns the warning that members had registered
// with a token that is removed.
func DiscoveryDestroyIncomplete(token string, size int, names []string) Message {
	return New("Removed an incomplete discovery token",
		"Token %s waited for %d %s, of which %s. A process of theirs that still runs never forms this cluster: stop it, and empty its data directory.",
		begun(token), size, plural(size, "initial member", "initial members"), registered(names))
}

// DiscoveryForgotten returns the warning for a token that could not be removed.
func DiscoveryForgotten(token, prefix string, err error) Message {
	return New("Discovery token forgotten, not removed",
		"The discovery cluster does not answer, so token %s is only removed from the state. What is left of it is under %s/%s/ and does no harm; it can be removed by hand.%s",
		begun(token), prefix, begun(token), own(answers(err)))
}

// DiscoveryImportID returns the error for an invalid import ID, which may be a token.
var DiscoveryImportID = of1[string]("Invalid import ID",
	"The ID %s. Import by token (\"3e86b59982e49066c5d813af1c2e2579\"), with its prefix before it where that is not /_etcd/registry (\"/my/registry:TOKEN\"), "+
		"and \"v2:\" before that with protocol v2; from a service by \"service:\" and the URL it gave.")

// DiscoveryMissing returns the error for a token that does not exist.
var DiscoveryMissing = of2[string, string]("No such discovery token", "The discovery cluster answers and has no token %.8s under %s.")
