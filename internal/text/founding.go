// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// foundedAlone describes initial members that ignored their bootstrap and each
// formed a separate cluster.
func foundedAlone(u *reconfigure.Unidentified) string {
	s := u.Snapshot
	a := s.Answer(u.Identity.Facts.Subject)
	type cluster struct {
		id membership.ClusterID
		at []string
	}
	clusters := []cluster{{id: s.ClusterID}}
	if a.Endpoint != "" {
		clusters[0].at = []string{a.Endpoint}
	}
	for id, at := range s.Others {
		clusters = append(clusters, cluster{id, at})
	}
	slices.SortFunc(clusters, func(x, y cluster) int {
		return strings.Compare(strings.Join(x.at, ","), strings.Join(y.at, ","))
	})
	shown := make([]string, 0, len(clusters))
	for _, c := range clusters {
		shown = append(shown, sprintf("%s (%s)", c.id, strings.Join(c.at, ", ")))
	}
	version := ""
	if a.Version != "" {
		version = ", which runs etcd " + Clean(a.Version) + ","
	}
	return sprintf("%d initial members form one cluster, but %s%s formed one by itself. What answers: %s %s. Nothing was changed. "+
		"A member that does not understand its bootstrap ignores it: without the join script a v3 discovery token needs etcd 3.6 or later, and a v2 or service URL always needs etcd 3.6 or earlier. "+
		"Start the machines through the join script, give them such an etcd, or give the token another protocol, and replace the machines, because what these have formed is in their data directories. Then apply again.",
		u.Founders, Member(s, u.Identity.Facts.Subject), version, plural(len(shown), "cluster", "clusters"), listed(shown))
}

// missing returns advice for a cluster that did not form, if this apply created
// no configuration for some initial members.
func missing(founders []string) string {
	if len(founders) == 0 {
		return ""
	}
	return sprintf("\n\nThis apply created no etcd_member_config named %s. "+
		"If there is none, make the names in founders (etcd_discovery_token) or members (etcd_initial_cluster) those of the configurations.", listed(cleaned(founders)))
}

// FounderURLs returns the error for a configuration that has the name of an
// initial member but other peer URLs.
func FounderURLs(name string, own, given []string) Message {
	return newMessage("Member "+name+" contradicts its bootstrap",
		"The configuration of %s has the peer URLs %s, and its etcd_initial_cluster has %s for it. etcd does not start as an initial member with other peer URLs than the initial cluster says. "+
			"Nothing has been changed. Make both the same, in peer_urls or address here, or in members there."+DestroyInstead,
		name, listed(own), listed(given))
}

// FounderName returns the error for a configuration that has a peer URL of an
// initial member but another name.
func FounderName(name, founder, url string) Message {
	return newMessage("Member "+name+" contradicts its bootstrap",
		"The configuration of %s has the peer URL %s, and its etcd_initial_cluster names the initial member there %s. %s would join a cluster that does not form without %s. "+
			"Nothing has been changed. Make both names the same, or give %s an address of its own."+DestroyInstead,
		name, url, founder, name, founder, name)
}

// RegistryIsCluster returns the error for a member whose discovery cluster is
// the cluster that is being formed.
func RegistryIsCluster(name, url string) Message {
	return newMessage("The discovery token is in the cluster itself",
		"%s is to find the other initial members through the discovery cluster at %s, which is its own cluster: that cannot answer before it is formed. "+
			"Give the etcd_discovery_token a provider block (alias) with the endpoints of another etcd. A provider block without endpoints takes those of ETCDCTL_ENDPOINTS. "+
			"If there is no other etcd, use etcd_initial_cluster."+DestroyInstead,
		name, url)
}
