// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// DiscoveryTokenOrURL is the error unless exactly one of token and url is set.
var DiscoveryTokenOrURL = newMessage("Either token or url",
	"Set token to read it from the discovery cluster at the provider's endpoints, or url to a discovery URL. Set one of them, not both.")

// DiscoveryDataProtocol returns the error for an unknown protocol in the data source.
func DiscoveryDataProtocol(protocol string) Message {
	return newMessage("Unknown protocol",
		"protocol = %q is neither \"v3\" nor \"v2\". For a discovery service give the token's url, and leave protocol out.", protocol)
}

// DiscoveryBesideURL returns the error for an argument that follows from url.
func DiscoveryBesideURL(name string) Message {
	return newMessage("Argument without effect",
		"%s cannot be combined with url: it follows from the URL.", name)
}

// DiscoveryURLInvalid returns the error for an invalid discovery URL, which may hold
// a token.
func DiscoveryURLInvalid(problem string) Message {
	return newMessage("Invalid discovery URL",
		"url %s. It is what members take as --discovery, such as \"http://10.0.0.1:2379/v2/keys/_etcd/registry/TOKEN\".", problem)
}

// EndpointsUnknown is the error for a data source that is read too early.
var EndpointsUnknown = newMessage("The provider's endpoints are not known yet",
	"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, "+
		"so that it is read during apply.")

// DiscoveryDataMissing returns the error for a token that does not exist.
func DiscoveryDataMissing(token, prefix string) Message {
	return newMessage("No such discovery token",
		"The discovery cluster answers and has no token %s under %s.", begun(token), prefix)
}

// DiscoveryDataSizeBad returns the error for a size that is not a number.
func DiscoveryDataSizeBad(token, value string) Message {
	return newMessage("Discovery token has an invalid size",
		"Token %s says %q where its size should be. Members that start with it exit with \"discovery: size key is bad\".", begun(token), value)
}
