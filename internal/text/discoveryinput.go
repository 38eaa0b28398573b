// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"

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
