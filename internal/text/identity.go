// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// notOurs describes a refusal of [membership.Identify].
func notOurs(u *reconfigure.Unidentified) string {
	version := ""
	if v := u.Snapshot.Answer(u.Identity.Facts.Subject).Version; v != "" {
		version = ", which runs etcd " + v + ","
	}
	c := finding{name: u.Name, f: u.Identity.Facts, s: u.Snapshot, d: membership.Decision{Code: u.Identity.Code}, held: true}
	c.more = map[string]any{
		"given": u.PeerURLs, "members": members(u.Snapshot, membership.IDs(u.Snapshot.Members)), "initial": u.InitialMembers,
		"version": version, "clusters": formed(u), "rebuild": own(rebuild(u.Name)),
	}
	c.more["import"] = own(c.fill(importIt))
	if c.learns() {
		c.more["import"] = own(adoptLearner(c.f.Subject) + c.fill(importLearner))
	}
	return c.text(unidentified).Detail
}

const (
	importIt      = "\n\nTo import the member, run this command. " + ofMember + ":\n\n  terraform import 'ADDRESS' {id}"
	importLearner = "\n\nTo manage it as an etcd_learner instead, write one in place of the etcd_member, and import it. ADDRESS is its address:\n\n  terraform import 'ADDRESS' {id}"
	otherName     = "{Subject} was added as {name}, and its process has published the name {bears} (ETCD_NAME). "
	whichName     = "If {bears} is right, set name = \"{bears}\" in the etcd_member or etcd_learner, then apply again. " +
		"If {name} is right, start its process with the environment of its node, then apply again."
)

var unidentified = wordings{
	membership.AlreadyMember: {{cause: "{Subject} is in the cluster already with these peer URLs ({given}), and was not added by this configuration.",
		next: "To have another member, give it other peer URLs. If the resource has create_before_destroy, remove that line from its lifecycle block, and apply again.{import}"}},
	membership.AnnouncedElsewhere: {{cause: "A member with these peer URLs ({given}) was added outside this configuration as {id} and has not started.",
		next: "If it will not be started, remove it, and apply again:\n\n  etcdctl member remove {id}{import}"}},
	membership.NameTaken: {{cause: "The cluster has a member {name} ({id}) already, at {urls}. Names are unique in a cluster.",
		next: "If that is another member, choose another name.{import}"}},
	membership.InitialMissing: {{cause: "{name} is an initial member, and cluster {cluster} was formed without it (its members: {members}).",
		next: "To add it as a later member, {rebuild}"}},
	membership.FormedAlone: {{cause: "{initial} initial members form one cluster, but {subject}{version} formed one by itself. What answers: {clusters}.",
		next: "A member that does not understand its bootstrap ignores it: without the join script a v3 discovery token needs etcd 3.6 or later, and a v2 or service URL always needs etcd 3.6 or earlier. " +
			"Start the machines through the join script, give them such an etcd, or give the token another protocol, and replace the machines, because what these have formed is in their data directories. Then apply again."}},
	membership.InitialRenamed: {{cause: "The initial member's peer URLs ({given}) belong to {subject}, a member of another name.",
		next: "Set name to the one that its process bears (ETCD_NAME)."}},
	membership.OtherMachine: {{cause: "{Subject} lives on another machine than the one in machine_id.",
		next: "If the resource has create_before_destroy, it would leave after its machine: remove that line from its lifecycle block, and apply again.{import}"}},
	membership.OtherName: {
		{when: finding.learns, tells: true, cause: otherName + "It stays a learner.", next: whichName},
		{tells: true, cause: otherName + "It is a voting member already.", next: whichName},
	},
	membership.MovedMember: {{cause: "{Subject} runs with the peer URLs {urls}, and the configuration says {given}.", next: "Set peer_urls to what it runs with."}},
}

// formed lists the clusters that initial members have formed, by their endpoints.
func formed(u *reconfigure.Unidentified) string {
	shown := []string{strings.TrimSpace(sprintf("%s cluster %s", u.Snapshot.Answer(u.Identity.Facts.Subject).Endpoint, u.Snapshot.ClusterID))}
	for id, at := range u.Snapshot.Others {
		shown = append(shown, sprintf("%s cluster %s", at, id))
	}
	slices.Sort(shown)
	return listed(shown)
}
