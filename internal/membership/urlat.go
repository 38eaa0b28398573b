// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"strconv"
	"strings"
)

// The standard ports of etcd, for clients and for peers.
const (
	ClientPort = 2379
	PeerPort   = 2380
)

// URLAt returns the URL at an address, in the form of [NormalizeURL]. The address
// is a host name or an IP address without scheme, port and brackets. Anything
// else is refused with a [*URLError], whose URL is the address.
func URLAt(scheme, address string, port int) (string, error) {
	trimmed := strings.TrimSpace(address)
	if trimmed == "" {
		return "", &URLError{URL: trimmed, Problem: URLEmpty}
	}
	host, problem := normalizeHost(trimmed, false)
	if problem != "" {
		return "", &URLError{URL: Masked(trimmed), Problem: problem}
	}
	return scheme + "://" + host + ":" + strconv.Itoa(port), nil
}

// WithPort returns a URL with another port, in the form of [NormalizeURL].
func WithPort(raw string, port int) (string, error) {
	normal, err := NormalizeURL(raw)
	if err != nil {
		return "", err
	}
	return normal[:strings.LastIndex(normal, ":")+1] + strconv.Itoa(port), nil
}
