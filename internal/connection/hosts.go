// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"net/netip"
	"strings"
)

// HostPattern is an element of trusted_hosts.
type HostPattern struct {
	prefix netip.Prefix // valid for an address and for a CIDR
	name   string       // a host name otherwise
}

// HostError explains why a text is not an element of trusted_hosts.
type HostError struct {
	// Text is the given text.
	Text string
	// Reason completes the sentence "The host ...".
	Reason string
}

// Error implements error.
func (e *HostError) Error() string { return "host " + Quote(e.Text) + " " + e.Reason }

// ParseHostPattern parses a host name, an IP address or a CIDR. The error is a
// [*HostError].
func ParseHostPattern(raw string) (HostPattern, error) {
	fail := func(reason string) (HostPattern, error) { return HostPattern{}, &HostError{raw, reason} }
	if strings.Contains(raw, "://") {
		return fail("is a URL; give its host alone")
	}
	if prefix, err := netip.ParsePrefix(raw); err == nil {
		return HostPattern{prefix: prefix.Masked()}, nil
	}
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(raw, "["), "]")); err == nil {
		if addr.Zone() != "" {
			return fail("has a zone, which means nothing on another machine")
		}
		addr = addr.Unmap()
		return HostPattern{prefix: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	name := strings.ToLower(raw)
	switch {
	case name == "":
		return fail("is empty")
	case strings.ContainsAny(name, "*?"):
		return fail("is a pattern; give each name, or a CIDR for addresses")
	case strings.Contains(name, "/"):
		return fail("is not a CIDR such as 10.0.1.0/24")
	case strings.Contains(name, ":"):
		return fail("has a port; give the host alone, which stands for all its ports")
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "":
		return fail("has characters that a host name cannot have")
	case strings.Trim(name, "0123456789.") == "":
		return fail("is not an IP address")
	}
	return HostPattern{name: name}, nil
}

// String returns the text that [ParseHostPattern] parses.
func (p HostPattern) String() string {
	switch {
	case !p.prefix.IsValid():
		return p.name
	case p.prefix.IsSingleIP():
		return p.prefix.Addr().String()
	default:
		return p.prefix.String()
	}
}

// matches reports whether the pattern matches the host. A name matches only
// itself. It is not resolved, because DNS is not under our control.
func (p HostPattern) matches(host string) bool {
	if !p.prefix.IsValid() {
		return p.name == host
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && p.prefix.Contains(addr.Unmap())
}
