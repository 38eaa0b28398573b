// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// giveUp is why a cluster is given up, in words: the subject of a sentence, how a plan leaves
// the cluster, and the line that states which members are gone. Then come the words for a
// cluster that has taken its place: how the state forgets the former one, what its import
// needs before, and how it is given up as well.
type giveUp struct{ subject, keep, otherwise, statement, forget, first, both string }

// NotGivenUp returns the error for a plan of etcd_cluster, or its apply, that would give
// up a cluster.
func NotGivenUp(err error, action membership.RestoreAction) Message {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return New("Cannot give up the cluster", "%v."+nothingChanged, err)
	}
	c := kept(n, cmp.Or(giveUps[action], giveUps[membership.RestoreNow]))
	c.held = true
	return c.text(notGivenUp)
}

// lastResort is the advice if no cluster can decide about a removal any more, and
// what each address answered. It is "" if err is not about a removal.
func lastResort(err error) string {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return ""
	}
	return "\n\n" + kept(n, forgetting).text(notGivenUp).Detail
}

// NotForgotten returns the error for a plan of a run that states that a cluster is lost, while
// another cluster answers.
func NotForgotten(err *reconfigure.NotGivenUp) Message {
	why := forgetting
	why.subject = "ETCD_CLUSTER_LOST gives up cluster {lost}. "
	return kept(err, why).text(notGivenUp)
}

// Occupied returns the error for an etcd_cluster that would be created at addresses at which
// servers answer.
func Occupied(err error) Message {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return New("Cannot create the cluster", "%v.", err)
	}
	return kept(n, giveUp{}).text(occupied)
}

// kept is what was found of a cluster that is not given up.
func kept(n *reconfigure.NotGivenUp, why giveUp) finding {
	s := n.Evidence.Snapshot
	c := finding{Decision: n.Decision, s: s}
	c.more = map[string]any{
		"lost": n.Request.Cluster, "members": members(s, membership.IDs(s.Members)),
		"heard":  Verbatim(heard(n.Evidence)),
		"stated": Verbatim(strings.Join(stating(n), ",")), "quoted": Verbatim(quoted(stating(n))),
		"keep": Verbatim(why.keep), "otherwise": Verbatim(why.otherwise), "first": Verbatim(why.first),
	}
	c.unnamed(n)
	c.more["gives"], c.more["statement"] = Verbatim(c.fill(why.subject)), Verbatim(c.fill(why.statement))
	c.more["forget"], c.more["both"] = Verbatim(c.fill(why.forget)), Verbatim(c.fill(why.both))
	return c
}

// unnamed adds what is known of the clusters that answer and are not named, and how the state
// gets the first of them in place of the cluster that is given up.
func (c finding) unnamed(n *reconfigure.NotGivenUp) {
	all := n.Evidence.Unnamed(n.Request)
	ids := slices.Sorted(maps.Keys(all))
	var answering []string
	for _, id := range ids {
		answering = append(answering, sprintf("cluster %s answers at %s", id, Verbatim(listed(each(all[id], Clean)))))
	}
	c.more["answering"] = Verbatim("C" + strings.TrimPrefix(strings.Join(answering, ", and "), "c"))
	c.more["clusters"] = len(ids)
	if len(ids) == 0 {
		return
	}
	there := n.Evidence.Lists[ids[0]]
	if len(there) == 0 { // the name of a member is an ID for its import, too
		there = n.Request.Known
	}
	c.more["other"], c.more["removals"] = ids[0], removals(n.Request.Known)
	blocks := ImportBlock("etcd_cluster.this", ids[0].String()) + "\n\n" +
		MemberBlocks(membership.Snapshot{Members: there})
	c.more["import"] = Verbatim(strings.TrimSpace(string(blocks)))
}

func (c finding) severalAnswer() bool { return c.more["clusters"] != 1 }

// removals are the commands that remove these members from the state.
func removals(members []membership.Member) Verbatim {
	out := ""
	for _, m := range members {
		out += sprintf("\n  terraform state rm 'etcd_member.node[%q]'", m.Label())
	}
	return Verbatim(out)
}

// ImportBlock is the block that imports a resource.
func ImportBlock(to, id string) Verbatim {
	return Verbatim("  import {\n    to = " + to + "\n    id = \"" + id + "\"\n  }")
}

// MemberBlocks are the import blocks for the members that have a name.
func MemberBlocks(s membership.Snapshot) Verbatim {
	var out []string
	for _, m := range s.ByName() {
		typ := "etcd_member"
		if m.Learner {
			typ = "etcd_learner"
		}
		id := m.ID.String()
		if m.ID == 0 { // it is one of the state
			id = m.Label()
		}
		if m.Started() || m.ID == 0 {
			out = append(out, string(ImportBlock(sprintf("%s.node[%q]", typ, Clean(m.Name)), id)))
		}
	}
	return Verbatim(strings.Join(out, "\n\n"))
}

// A restore that an earlier apply has begun is on the way until the restored cluster
// answers. Until then it can be withdrawn, which gives up the restored cluster.
var giveUps = map[membership.RestoreAction]giveUp{
	membership.RestoreNow: {
		subject: replaces, statement: inRestore, otherwise: " Otherwise remove replaces_cluster from restore.",
		forget: forgetAll, first: noRestore, both: bothReplaced,
	},
	membership.RestoreOnTheWay: {
		subject: replaces, statement: inRestore, forget: forgetAll, first: noRestore, both: bothReplaced,
		keep: "To withdraw the restore, set restore to what it was before, or remove it, and run terraform apply. ",
	},
	membership.RestoreWithdrawn: {
		subject: "The withdrawal of the restore gives up cluster {lost}. ",
		keep:    "To keep the restored cluster, put restore back into the configuration. ",
		forget:  forgetAll,
		statement: "state it for this Terraform run only, and again for the apply of a saved plan. Leave out a " +
			"member that may come back:\n\n" +
			"  ETCD_CLUSTER_LOST={lost}:{stated} terraform apply",
	},
}

// forgetting gives up a cluster that cannot decide about the removal of its members.
var forgetting = giveUp{
	keep: "Apply again: a cluster with a quorum removes the member itself. ",
	statement: "state that for this Terraform run only, and destroy everything that is in the state. Members that no " +
		"cluster can remove are then forgotten:\n\n" +
		"  ETCD_CLUSTER_LOST={lost}:{stated} terraform destroy -refresh=false",
	forget: "Remove the members of cluster {lost} and their etcd_cluster from the state, which changes no machine. " +
		afterWith + ":\n\n" +
		"  terraform state rm 'ADDRESS'\n  terraform state rm 'etcd_cluster.this'",
	both: "\n\nIf cluster {other} is to end as well, import it first. Its members are removed then, before their " +
		"machines are destroyed.",
}

const (
	replaces   = "restore.replaces_cluster gives up cluster {lost}. "
	inRestore  = "add this line to restore. Leave out a member that may come back:\n\n  gone = [{quoted}]"
	allTheSame = "{keep}If you want to give up the cluster all the same, stop etcd on "
	forgetAll  = "Remove cluster {lost} from the state, which changes no machine. Correct the addresses in these " +
		"commands:\n\n" +
		"  terraform state rm 'etcd_cluster.this'{removals}"
	noRestore    = "Remove restore from the configuration. "
	bothReplaced = "\n\nTo give up cluster {other} as well, import it first. Then confirm that in restore:\n\n  " +
		"replaces_cluster = \"{other}\""
	olderState = guides + "disaster-recovery#an-older-state"
	untaint    = "\n\nIf the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'"
)

var notGivenUp = wordings{
	membership.HasQuorum: {{summary: "The cluster has not lost its quorum",
		cause: "{gives}Cluster {lost} answers, with {members}. It may have its quorum, and writes that it " +
			"acknowledged would be lost.",
		next: "\n\n" + allTheSame + "its machines. Then try again.{otherwise}{heard}"}},
	membership.OtherServes: {
		{when: finding.severalAnswer, summary: "Other clusters answer",
			cause: "{gives}{answering}. They may serve, and the machines that would be destroyed may be theirs.",
			next: "\n\nFind out which of these clusters is in use, and stop etcd on the machines of the others. " +
				"If an address is not one of cluster {lost}, correct it in members, or remove it from endpoints and " +
				"address_map of the provider. " +
				"Then plan again: the error says how to keep the cluster that is left.{heard}"},
		{summary: "Another cluster answers",
			cause: "{gives}{answering}. It may serve, and the machines that would be destroyed may be its machines.",
			next: "\n\nIf cluster {other} is in use, because an earlier apply restored it or it was restored by " +
				"hand, the state is older than the cluster. " +
				"{forget}\n\n{first}Set endpoints of the provider to addresses of cluster {other}, and import it. " +
				"Import machines that the state does not have as well, " +
				"and set ignore_changes for the user data of all machines:\n\n  {import}{both}\n\n" +
				"If cluster {other} is not in use, stop etcd on its machines. If it has nothing to do with cluster " +
				"{lost}, correct the addresses in members, " +
				"or remove its address from endpoints and address_map of the provider. If it got the address of a " +
				"lost node, see " + olderState + ". Then try again.{heard}"},
	},
	membership.Contradicted: {{summary: "A member that is stated gone answers",
		cause: "{gives}{names} {is|are} stated to be gone for good, and a server answers that may be {it|them}. So " +
			"cluster {lost} may serve, or come back.",
		next: "\n\nRemove {it|them} from gone of restore and from ETCD_CLUSTER_LOST. " + allTheSame + "that machine " +
			"for good. Then try again.{otherwise}{heard}"}},
	membership.MayServe: {{summary: "The cluster may serve",
		cause: "{gives}A server answers at an address of cluster {lost}. It may be a member with a quorum, and " +
			"writes that it acknowledged would be lost.",
		next: "\n\nIf the server belongs to the cluster, correct the provider's certificates, credentials and " +
			"endpoints, so that it gives its member list. " +
			"If it does not, remove its address from endpoints and address_map. " + allTheSame + "its machine. Then " +
			"try again.{otherwise}{heard}"}},
	membership.NotStated: {{summary: "State which members are gone",
		cause: "{gives}Nothing proves that the quorum of cluster {lost} is lost: a member that does not answer may " +
			"serve where it is not reached from here, or its power may return.",
		next: "\n\nLook at the machines. If these are destroyed or never start again, {statement}{heard}"}},
}

// occupied are the wordings for a cluster that is to form.
var occupied = wordings{
	membership.OtherServes: {
		{when: finding.severalAnswer, summary: "Clusters run at these addresses",
			cause: "{answering}. A new cluster would form on their machines.",
			next: untaint + "\n\nIf not, correct the addresses in members: all of them must be of one cluster. " +
				"Stop etcd on the machines of a cluster that is not in use. Then plan again.{heard}"},
		{summary: "A cluster runs at these addresses",
			cause: "{answering}. A new one would form a second cluster on its machines.",
			next: untaint + "\n\nIf the state was lost or the resource has another key, import the cluster and its " +
				"members. Set endpoints of the provider, correct the addresses in these blocks, " +
				"and set ignore_changes for the user data of the machines, which exist:\n\n  {import}\n\n" +
				"If another etcd_cluster has cluster {other}, or cluster {other} has nothing to do with this " +
				"configuration, correct the addresses in members.{heard}"},
	},
	membership.MayServe: {{summary: "Something answers at the addresses of the members",
		cause: "The plan creates a cluster, and a server at an address of a member refuses the provider.",
		next:  "If a cluster runs there, import it. If not, correct the addresses or the credentials.{heard}"}},
}

// stating returns the voters to state as gone: those that are stated, and those of
// which nothing is known.
func stating(n *reconfigure.NotGivenUp) []string {
	all := each(slices.Concat(n.Request.Gone, n.Decision.Facts.Names), clean)
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// heard lists what each known address of a cluster answered.
func heard(e membership.Evidence) string {
	if len(e.Heard) == 0 {
		return "\n\nNo address of the cluster is known, so nothing was asked."
	}
	lines := each(e.Heard, func(h membership.Heard) string {
		return Clean(h.Endpoint) + ": " + cut(Clean(h.Detail), longestError)
	})
	return "\n\nThe addresses answered:\n  - " + strings.Join(lines, "\n  - ")
}
