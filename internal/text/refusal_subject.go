// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The refusals because of the member itself.

func (c finding) notMember() string {
	return sprintf("The member list of cluster %s has no member %s: it was removed. An ID that was removed never returns; remove it from the state or replace it, so that it joins as a new member.", c.s.ClusterID, c.f.Subject)
}

func (c finding) lagging() string {
	return sprintf("%s is %d entries behind the leader; %d are allowed. It stays a learner. If it does not catch up, look at its log and at the network between it and the leader, then apply again.",
		capital(Member(c.s, c.f.Subject)), c.f.Lag, c.f.MaxLag)
}

func (c finding) notStarted() string {
	m, _ := c.s.Member(c.f.Subject)
	who := sprintf("%s (%s)", c.name, c.f.Subject)
	if c.name == c.f.Subject.String() {
		who = "Member " + Clean(c.name)
	}
	safe := "It is a learner, so the cluster is as safe as before"
	if !m.Learner {
		safe = "It is a voting member already, and counts as failed until it has started"
	}
	return sprintf("%s was added with the peer URLs %s and has not started: its process does not run, cannot reach the other members, or does not listen there. Look at its log. "+
		safe+"; correct what is wrong, then apply again.", who, strings.Join(m.PeerURLs, ", "))
}

func (c finding) notAlive() string {
	m, _ := c.s.Member(c.f.Subject)
	said := MemberAnswer(c.s, c.f.Subject)
	switch {
	case c.s.Alive(c.f.Subject): // it answers, but not as expected
		return sprintf("%s is a learner in the member list, but %s. Apply again; if this stays so, remove the member and add it again.", capital(Member(c.s, c.f.Subject)), c.f.Detail)
	case m.Learner:
		return said + " A learner that does not answer is not promoted: it stays a learner. Bring it back, then apply again."
	default:
		return said + " It is a voting member already, and counts as failed while it does not answer. Bring it back, then apply again."
	}
}

func (c finding) otherLeader() string {
	a := c.s.Answer(c.f.Subject)
	_, term, _ := c.s.MajorityLeader()
	own := "knows no leader"
	if a.Leader != 0 {
		own = sprintf("names %s as the leader in term %d", Member(c.s, a.Leader), a.Term)
	}
	return sprintf("%s %s; the voters name %s in term %d. It stays a learner. Look at the network between it and the others, then apply again.",
		capital(Member(c.s, c.f.Subject)), own, members(c.s, c.f.Others), term)
}

func (c finding) unconfirmed() string {
	if m, _ := c.s.Member(c.f.Subject); !m.Learner {
		return sprintf("The member list says that %s is a voter, and the member itself does not say so yet. Apply again.", Member(c.s, c.f.Subject))
	}
	return sprintf("%s has caught up, but its connection to the leader was not stable for two checks in a row. It stays a learner, and the quorum is not affected. Apply again. If this repeats, check the network between it and the leader.", capital(Member(c.s, c.f.Subject)))
}

func (c finding) lastVoter() string {
	who := capital(Member(c.s, c.f.Subject))
	switch {
	case c.action == reconfigure.ActionReplace:
		return who + " is the only voter: to replace it would be to lose the data. Add another member first, then apply again. Nothing was changed."
	case c.d.Verdict == membership.Wait:
		return sprintf("%s is the only voter, and %s must be removed before it: see what holds that up, then apply again.", who, members(c.s, c.f.Others))
	case len(c.f.Others) > 0:
		return sprintf("%s is the only voter, and %s %s left: without it the cluster is gone. Remove %s first, or promote %s, then apply again.",
			who, members(c.s, c.f.Others), plural(len(c.f.Others), "is", "are"), plural(len(c.f.Others), "that learner", "those learners"), plural(len(c.f.Others), "it", "one of them"))
	default:
		return who + " is the only voter: no other member can lead, and the cluster ends with its process."
	}
}

func (c finding) notOurs() string {
	m, _ := c.s.Member(c.f.Subject)
	return sprintf("%s has the peer URLs %s, and the state knows it as %s. It was not touched. If its peer URLs were changed outside Terraform, apply again with a refresh. "+
		"If it is another member, forget it; ADDRESS is the address after \"with\" above:\n\n  terraform state rm 'ADDRESS'",
		capital(Member(c.s, c.f.Subject)), strings.Join(m.PeerURLs, ", "), c.f.Detail)
}

// otherName describes a member whose process has another name than its
// etcd_member.
func otherName(u *reconfigure.Unidentified, m membership.Member) string {
	stays := "It stays a learner."
	if !m.Learner {
		stays = "It is a voting member already."
	}
	return sprintf("%s was added as %s, and its process has published the name %s (ETCD_NAME). %s "+
		"If %s is right, set name = %q in the etcd_member or etcd_learner, then apply again. "+
		"If %s is right, start its process with the environment of its node, then apply again.",
		capital(Member(u.Snapshot, m.ID)), u.Name, m.Name, stays, m.Name, m.Name, u.Name)
}

func (c finding) versionTooOld() string {
	run := sprintf("%s %s etcd %s", capital(members(c.s, c.f.Others)), plural(len(c.f.Others), "runs", "run"), c.f.Detail)
	if c.action != reconfigure.ActionUpdate && c.f.Subject != 0 { // a promotion, possibly as part of an addition
		return run + ", by which a cluster of one cannot promote a learner (etcd-io/etcd#11633). Upgrade to 3.4.4 or later, then apply again."
	}
	if c.action == reconfigure.ActionUpdate {
		return run + ", which forgets that a member is a learner when its peer URLs are updated (etcd-io/etcd#21694). Nothing was changed. " +
			"Remove the learner and add it again with the new URLs, or upgrade to 3.5.31, 3.6.12 or later first."
	}
	return run + ", which knows no learners, and a member is never added in any other way. Upgrade to 3.4 or later, then apply again."
}
