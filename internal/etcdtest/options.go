// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

// Options select the etcd version and its configuration. The zero value is an
// etcd of [DefaultVersion] without TLS, with etcd's own timing.
type Options struct {
	// Name is the name of the member for [NewProcess]. Empty means infra1.
	Name string
	// Names are the names of the members for [Start]. Missing names are infra1,
	// infra2 and so on.
	Names []string
	// Version is the version of etcd. Empty means [DefaultVersion].
	Version Version
	// TLS enables mutual TLS on client and peer ports.
	TLS *PKI
	// Password enables authentication with the user root after the cluster has
	// formed.
	Password string
	// V2 enables the v2 API (3.4 and 3.5 only).
	V2 bool
	// Env is added to the environment of every process. It overrides the
	// variables of this package.
	Env map[string]string
	// Links puts a [Link] in front of the peer port of every member, so that
	// [Cluster.Split] can cut members off from each other. Linux only.
	Links bool
}

// user is the user to which Options.Password belongs.
const user = "root"

func (o Options) scheme() string {
	if o.TLS != nil {
		return "https"
	}
	return "http"
}
