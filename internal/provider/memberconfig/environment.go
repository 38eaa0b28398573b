// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// urls are the addresses of a member's process, as configured.
type urls struct {
	peer, client             []string
	listenPeer, listenClient []string
}

// environment returns the ETCD_* variables of a member's process. bootstrap
// holds the variables that the bootstrap adds for an initial member or for a
// member that awaits the cluster. initialCluster is the value for a new member,
// "" if there is no cluster yet: then the join script sets it. peers are the
// URLs to which the join script sends requests; etcd ignores them.
func environment(name string, u urls, founder bool, bootstrap map[string]string, initialCluster string, peers []string) map[string]string {
	env := map[string]string{"ETCD_NAME": name}
	set := func(key string, values []string) {
		if len(values) > 0 {
			env[key] = strings.Join(slices.Sorted(slices.Values(values)), ",")
		}
	}
	set("ETCD_INITIAL_ADVERTISE_PEER_URLS", u.peer)
	set("ETCD_LISTEN_PEER_URLS", orListen(u.listenPeer, u.peer))
	set("ETCD_ADVERTISE_CLIENT_URLS", u.client)
	set("ETCD_LISTEN_CLIENT_URLS", orListen(u.listenClient, u.client))
	set("ETCD_JOIN_PEERS", peers)
	maps.Copy(env, bootstrap)
	if founder {
		env["ETCD_INITIAL_CLUSTER_STATE"] = "new"
		return env
	}
	env["ETCD_INITIAL_CLUSTER_STATE"] = "existing"
	if initialCluster != "" {
		env["ETCD_INITIAL_CLUSTER"] = initialCluster
	}
	return env
}

// toAsk returns the part of the bootstrap for the join script of a member that
// awaits its cluster: the discovery cluster in which the initial members find
// each other, or their peer URLs. The discovery variables have other names than
// etcd's own, because etcd would register there.
func toAsk(bootstrap map[string]string) (variables map[string]string, peers []string) {
	variables = map[string]string{}
	for key, value := range bootstrap {
		switch key {
		case "ETCD_DISCOVERY", "ETCD_DISCOVERY_TOKEN", "ETCD_DISCOVERY_ENDPOINTS":
			variables[strings.Replace(key, "ETCD_", "ETCD_JOIN_", 1)] = value
		case "ETCD_DISCOVERY_CACERT", "ETCD_DISCOVERY_CERT", "ETCD_DISCOVERY_KEY", "ETCD_DISCOVERY_USER":
			variables[key] = value // etcd ignores them without a token
		case "ETCD_INITIAL_CLUSTER":
			founders, err := membership.ParseInitialCluster(value)
			if err != nil {
				continue // only possible if written by hand
			}
			for _, urls := range founders {
				peers = append(peers, urls...)
			}
		}
	}
	return variables, peers
}

// orListen returns the listen URLs: those given, or those derived from the
// advertised URLs. etcd binds to addresses only, so a host name becomes the
// wildcard address with the same port.
func orListen(given, advertised []string) []string {
	if len(given) > 0 {
		return given
	}
	var out []string
	for _, a := range advertised {
		u, err := url.Parse(a)
		if err != nil {
			continue
		}
		if host := u.Hostname(); net.ParseIP(host) == nil && host != "localhost" {
			u.Host = net.JoinHostPort("0.0.0.0", u.Port())
		}
		if s := u.Scheme + "://" + u.Host; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
