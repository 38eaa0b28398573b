// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// DiscoveryTokenOrURL is the error unless exactly one of token and url is set.
var DiscoveryTokenOrURL = New("Either token or url",
	"Set token to read it from the discovery cluster at the provider's endpoints, or url to a discovery URL. Set one of them, not both.")

// DiscoveryBesideURL returns the error for an argument that follows from url.
var DiscoveryBesideURL = of1[string]("Argument without effect",
	"%s cannot be combined with url: it follows from the URL.")

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
