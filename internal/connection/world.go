// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"net/http"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// World takes the place of the network in tests; see [Pool]. It does not
// simulate logins: settings with a user name need the real network.
type World interface {
	// Client returns etcd's own client of the server at an address, which is a
	// scheme, a host and a port. The end of an attempt to connect is an [*Error]
	// of endpoint. The answers are those after clientv3's retries.
	Client(endpoint, address string) *clientv3.Client
	// Web returns the transport of HTTP requests to the server at an address.
	Web(address string) http.RoundTripper
}

// url returns the address that is dialled with its scheme.
func (w wire) url() string { return w.scheme + "://" + w.address }
