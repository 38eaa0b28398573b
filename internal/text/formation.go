// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// formedAlone describes initial members that ignored their bootstrap and each
// formed a separate cluster.
func formedAlone(u *reconfigure.Unidentified) string {
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
		u.InitialMembers, Member(s, u.Identity.Facts.Subject), version, plural(len(shown), "cluster", "clusters"), listed(shown))
}
