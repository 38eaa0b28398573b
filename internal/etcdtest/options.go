// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"maps"
	"time"
)

// Options say which etcd runs, and how. The zero value is an etcd of
// [DefaultVersion] without TLS, with etcd's own timing.
type Options struct {
	// Name is the member's name with [NewProcess]; empty means infra1.
	Name string
	// Names are the members' names with [Start]; missing ones are infra1,
	// infra2 and so on.
	Names []string
	// Version is what runs; empty means [DefaultVersion].
	Version Version
	// Versions are the versions of each member with [Start], in the order of
	// Names; Version where there is none.
	Versions []Version
	// TLS asks for mutual TLS on client and peer ports.
	TLS *PKI
	// Password turns authentication on once the cluster has formed, with the
	// user root.
	Password string
	// V2 serves the v2 API (3.4 and 3.5 only).
	V2 bool
	// Env is added to the environment of every process, over what the package
	// sets itself.
	Env map[string]string
	// Args are flags for every process. etcd refuses a flag whose variable is
	// set as well.
	Args []string
	// Advertise are client URLs that every process advertises besides its own.
	Advertise []string
	// PreStart is a command to run before each start; see [Process].
	PreStart []string
	// Fsync makes every write durable against a crash of the machine, as
	// etcd does by itself. Without it --unsafe-no-fsync is set (not on 3.4,
	// which lacks it), which survives the death of the process all the same.
	Fsync bool
	// QuotaBytes limits the size of the store; 0 means etcd's own limit.
	QuotaBytes int64
	// Heartbeat and Election are raft's intervals; 0 means etcd's own (100 ms
	// and 1 s). Election must be at least five times Heartbeat.
	Heartbeat time.Duration
	Election  time.Duration
	// Links puts a [Link] in front of every member's peer port, so that
	// members can be cut off from each other: [Cluster.Isolate],
	// [Cluster.Split]. Linux only.
	Links bool
}

// user is the user name that goes with Options.Password.
const user = "root"

func (o Options) version(i int) Version {
	v := o.Version
	if i < len(o.Versions) && o.Versions[i] != "" {
		v = o.Versions[i]
	}
	if v == "" {
		v = DefaultVersion
	}
	return v
}

// clone keeps what the caller does to his maps and slices later out of here.
func (o Options) clone() Options {
	o.Names = append([]string(nil), o.Names...)
	o.Versions = append([]Version(nil), o.Versions...)
	o.Args = append([]string(nil), o.Args...)
	o.Advertise = append([]string(nil), o.Advertise...)
	o.PreStart = append([]string(nil), o.PreStart...)
	o.Env = maps.Clone(o.Env)
	return o
}

func (o Options) scheme() string {
	if o.TLS != nil {
		return "https"
	}
	return "http"
}
