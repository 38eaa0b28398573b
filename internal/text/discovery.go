// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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

// startOver is the advice if a bootstrap cannot be used again. It follows the
// condition, such as "If the cluster is gone for good".
const startOver = ", destroy what is left of it and start again:\n\n  terraform destroy -refresh=false\n  terraform apply"

// untaint is the advice for a resource that is replaced because it is tainted.
// Until a moved block is applied, the CLI uses the former address of the
// resource, and a diagnostic the new address.
const untaint = "If the resource is tainted, keep it. " + afterWith + ", or the one after \"from\" in a moved block that has not been applied yet:\n\n  terraform untaint 'ADDRESS'"

// DiscoveryURLInvalid returns the error for an invalid discovery URL, which may hold
// a token.
var DiscoveryURLInvalid = of1[string]("Invalid discovery URL",
	"url %s. It is what members take as --discovery, such as \"http://10.0.0.1:2379/v2/keys/_etcd/registry/TOKEN\".")

// EndpointsUnknown is the error for a data source that is read too early.
var EndpointsUnknown = New("The provider's endpoints are not known yet",
	"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, "+
		"so that it is read during apply. If the data source has endpoints, set them instead.")

// DiscoveryDataSizeBad returns the error for a size that is not a number.
var DiscoveryDataSizeBad = of2[string, string]("Discovery token has an invalid size",
	"Token %.8s says %q where its size should be. Members that start with it exit with \"discovery: size key is bad\".")

// DiscoveryTokenInvalid returns the error for an invalid token of the user.
// problem ends the sentence.
var DiscoveryTokenInvalid = of2[string, string]("Invalid discovery token",
	"token = %.8q %s. Every member puts the token into a key of the discovery cluster, so it may hold letters, digits, \"-\", \"_\" and \".\" only.")

// DiscoveryPrefixInvalid returns the error for an invalid prefix.
var DiscoveryPrefixInvalid = of2[string, string]("Invalid prefix",
	"prefix = %q %s. It is an absolute key, such as \"/_etcd/registry\".")

// DiscoveryPrefixUnusual returns the warning for a v3 prefix that members do not use.
var DiscoveryPrefixUnusual = of1[string]("Members look for the token elsewhere",
	"With protocol \"v3\" etcd looks for tokens under /_etcd/registry only. prefix = %q works where the machines reach the discovery cluster through an "+
		"etcd gRPC proxy that adds a namespace; without one, leave prefix out.")

// DiscoverySizeEven returns the warning for an even number of initial members.
func DiscoverySizeEven(size int) Message {
	return New("Even number of initial members", "%d members tolerate the failure of %d, the same as %d. Prefer %d or %d.", size, (size-1)/2, size-1, size-1, size+1)
}

// DiscoverySizeLarge returns the warning for more initial members than etcd recommends.
var DiscoverySizeLarge = of1[int]("Many initial members",
	"%d initial members: every write waits for a majority of them, and more than 7 members make a cluster slower rather than safer. 3 survive the loss of one member, 5 of two, 7 of three.")

// DiscoveryArgumentUnused returns the error for an argument without effect.
func DiscoveryArgumentUnused(name, protocol string) Message {
	why := map[string]string{
		"service_url":          "the discovery cluster of \"v2\" and \"v3\" is given by the provider's endpoints",
		"prefix":               "a service keeps its tokens where it likes",
		"advertised_endpoints": "machines use the URL that the service gives",
		"machine_access":       "members reach a v2 discovery cluster and a service without certificates and users of their own",
	}[name]
	return New("Argument without effect",
		"%s cannot be set with protocol = %q: %s.", name, protocol, why)
}

// DiscoveryServiceURLInvalid returns the error for an invalid URL of a service.
func DiscoveryServiceURLInvalid(url, problem string) Message {
	return New("Invalid URL of a discovery service",
		"service_url = %q %s. It is what /new is added to, such as \"https://discovery.example.com\".", membership.Masked(url), problem)
}

// MachinePathInvalid returns the error for an invalid path in machine_access, which
// may be a key.
var MachinePathInvalid = of1[string]("Invalid path in machine_access",
	"%s is not an absolute path of printable ASCII characters. Set it to the path of the file on the machines, such as \"/etc/etcd/pki/ca.pem\".")

// MachineUserPassword is the error for a user with a password. It omits the value.
var MachineUserPassword = New("Password in machine_access",
	"machine_access.username contains \":\", which separates a password from the user in ETCD_DISCOVERY_USER. The password would be in the state and in user data. "+
		"Set username to the user alone, and set ETCD_DISCOVERY_PASSWORD on the machines.")

// MachineUserInvalid returns the error for an invalid user in machine_access.
var MachineUserInvalid = of1[string]("Invalid username in machine_access",
	"machine_access.username = %q is not a user of printable ASCII characters. Set it to the user that the machines have in the discovery cluster.")

// DiscoveryPublicService returns the warning for the public service.
var DiscoveryPublicService = of1[string]("The public discovery service is no longer maintained",
	"%s is no longer maintained and may not answer (etcd-io/etcd#21915); it deletes tokens after some days, and everyone who knows a token can register. "+
		"Its members must be etcd 3.6 or older: 3.7 ignores ETCD_DISCOVERY and forms a cluster of its own. Prefer protocol = \"v3\" with an etcd of yours as the discovery cluster.")

// DiscoveryOldProtocol returns the warning that a protocol is for older members.
var DiscoveryOldProtocol = of1[string]("For members up to etcd 3.6",
	"With protocol = %q the members must be etcd 3.6 or older: 3.7 ignores ETCD_DISCOVERY, and each member forms a cluster of its own. "+
		"\"v3\" is for members of every version.")

// DiscoveryServiceFailed returns the error for a service's answer. answer is a
// whole sentence without its full stop. minting is true for a request for a
// token, limited for status 429.
func DiscoveryServiceFailed(doing, answer string, minting, limited bool) Message {
	advice := "Nothing was changed."
	switch {
	case minting && !limited:
		advice = "It is not asked again in this run, because every request makes another token. Apply again to ask once more."
	case limited:
		advice = "It limits how often it may be asked: wait as long as Retry-After says (in seconds, unless it is a date), then apply again."
	}
	return New("The discovery service gave no usable answer",
		"Cannot %s: %s. %s", doing, answer, advice)
}

// DiscoveryServiceNoToken returns the warning for an incomplete token not found.
var DiscoveryServiceNoToken = of2[string, string]("The discovery service cannot find the token",
	"%[2]s answers \"unable to GET token\" for token %.8[1]s. It says so of a token that it has deleted, and also while its own storage fails, so the state is kept. "+
		"If the cluster has formed, no action is needed.\n\nIf it never formed and the service keeps saying so, or if the cluster is gone for good"+startOver)

// DiscoveryKept returns the warning that a token outlives its resource.
var DiscoveryKept = of2[string, string]("Discovery token forgotten, not removed",
	"A discovery service does not delete tokens on request. Token %.8s stays at %s until the service collects it.")
