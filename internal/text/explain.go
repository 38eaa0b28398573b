// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// NotRefreshed returns the warning for a cluster that cannot be read at
// refresh: its endpoints do not answer, or refuse the provider.
func NotRefreshed(err error) Message {
	summary := "State not refreshed: the cluster does not answer"
	step := cmp.Or(noLogin(err), " Make the members reachable from here, then plan again. If the cluster is gone permanently, "+recoverySteps)
	if cluster.TurnedAway(err) {
		summary, step = "State not refreshed: the cluster refuses the provider", remedyOf(err)
	}
	return New(summary, "What is in state is kept as it was, so that plan and destroy remain possible.%s%s", Verbatim(step), Answers(err))
}

// Cause says in a separate paragraph why a cluster could not decide.
func Cause(err error) Verbatim {
	if refusal, ok := errors.AsType[*reconfigure.Refusal](err); ok {
		return Verbatim("\n\n" + reason(refusal.Action, refusal.Name, refusal.Decision, refusal.Snapshot))
	}
	return Answers(err)
}

// Explain returns the error for a failed operation on a member.
func Explain(action reconfigure.Action, name string, err error) Message {
	var refusal *reconfigure.Refusal
	var unidentified *reconfigure.Unidentified
	var other *reconfigure.OtherCluster
	var incomplete *reconfigure.Incomplete
	var none *reconfigure.NoCluster
	var bad *cluster.Malformed
	var url *membership.URLError
	summary := summary(action, name)
	held := lockHeld(err)
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &incomplete) && incomplete.Interrupted:
		return New(summary, "The operation was interrupted. What was added is recorded in the cluster, and the next apply continues.")
	case held != "":
		return Message{summary, held}
	case errors.As(err, &bad):
		return Message{summary, malformed(bad)}
	case incomplete != nil:
		return joinIncomplete(incomplete)
	case errors.As(err, &unidentified):
		return Message{summary, notOurs(unidentified)}
	case errors.As(err, &refusal):
		if action != reconfigure.ActionPromote || refusal.Action != reconfigure.ActionAdd {
			action = refusal.Action // to join a member that is in the list is to promote it
		}
		t := refused(action, refusal.Name, refusal.Decision, refusal.Snapshot)
		if refusal.Timeout {
			t.Detail += " The time allowed for it ran out while waiting."
		}
		t.Detail += lastResort(err)
		return t
	case errors.As(err, &other):
		instead := sprintf(" "+
			"If cluster %s has taken its place, remove cluster %s from the state and import cluster %[1]s: see "+
			olderState+".", other.Got, other.Want)
		return New(summary, "The state has cluster %[1]s, and the endpoints answer for cluster %[2]s (%[3]s). "+
			"Nothing was changed. "+
			"If cluster %[1]s still runs, point endpoints at it, then apply again.%[4]s",
			other.Want, other.Got, other.Endpoints, Verbatim(cmp.Or(lastResort(err), instead)))
	case errors.As(err, &url):
		return New(summary, "In endpoints: %s Nothing was changed. Correct endpoints, then apply again.%s", Verbatim(urlDetail(url)), Verbatim(lastResort(err)))
	case errors.As(err, &none):
		return Message{summary, noCluster(none)}
	case errors.Is(err, cluster.ErrNoEndpoints):
		return Message{NoEndpoints.Summary, NoEndpoints.Detail + lastResort(err)}
	case errors.As(err, new(*connection.Unreachable)):
		return unreachable(summary, err)
	case errors.Is(err, cluster.ErrPermission):
		return Message{summary, deniedRoot(err)}
	case errors.Is(err, cluster.ErrRecordChanged):
		return New(summary, "Another run is working on the same member: its ownership record has changed. Wait for that run to end, then apply again.")
	}
	return New(summary, "etcd answered: %s.", sentence(err))
}

// noCluster says that a new member found no cluster at its endpoints.
func noCluster(none *reconfigure.NoCluster) string {
	switch {
	case cluster.TurnedAway(none.Cause) || noLogin(none.Cause) != "":
		return "No endpoint gave a member list. Nothing was changed." + remedyOf(none.Cause) + string(Answers(none.Cause))
	case none.Forming:
		return "The cluster did not form in time: no endpoint gave a member list. All initial members must run, and find each other, before one of them answers. " +
			"Check the logs of their processes, fix what they report, and apply again." + string(Answers(none.Cause))
	default:
		return "There is no cluster to join: no endpoint gave a member list.\n\nFor a new cluster, use an etcd_cluster. Its initial members form the cluster. " +
			"For an existing cluster, check that its client URLs (port 2379) can be reached from here." + string(Answers(none.Cause))
	}
}

// NotOne returns the error for a text that matches no member, or several.
func NotOne(summary, wanted string, found []membership.Member, s membership.Snapshot) Message {
	if len(found) > 1 {
		return New(summary, "%q means %s. Give the ID of the one that is meant.", wanted, Verbatim(members(s, membership.IDs(found))))
	}
	return New(summary, "Cluster %s has no member with the ID or the name %q. Its members: %s.", s.ClusterID, wanted, Members(s))
}

// Members lists the members of a cluster.
func Members(s membership.Snapshot) Verbatim { return Verbatim(members(s, membership.IDs(s.ByName()))) }

// AdoptLearner says how an etcd_member adopts a learner that is in the cluster.
func AdoptLearner(id membership.MemberID) Verbatim {
	return Verbatim(sprintf("\n\nTo adopt and promote it, set this in the etcd_member, and apply:\n\n  learner_id = %q", id.String()))
}

// longer are the actions that do not read as "Cannot ... member".
var longer = map[reconfigure.Action]string{reconfigure.ActionReach: "reach the cluster of", reconfigure.ActionRecord: "write the record of"}

// summary returns the summary of a failed action.
func summary(action reconfigure.Action, name string) string {
	return "Cannot " + cmp.Or(longer[action], string(action)) + " member " + name
}

// BadID returns the error for a member in state whose IDs cannot be parsed.
func BadID(name string, err error) Message {
	return New("Cannot read the ID of member "+name,
		"%[2]s. No version of this provider writes that, so the state was changed by something else. Nothing was changed in the cluster. "+
			"Take the member out of the state and import it again; ADDRESS is the address after \"with\":\n\n  terraform state rm 'ADDRESS'\n  terraform import 'ADDRESS' '%[1]s'", name, err)
}

// notOurs describes a refusal of [membership.Identify].
func notOurs(u *reconfigure.Unidentified) string {
	version := ""
	if v := u.Snapshot.Answer(u.Identity.Facts.Subject).Version; v != "" {
		version = ", which runs etcd " + v + ","
	}
	c := finding{name: u.Name, Decision: membership.Decision{Code: u.Identity.Code, Facts: u.Identity.Facts}, s: u.Snapshot, held: true}
	c.more = map[string]any{
		"given": u.PeerURLs, "members": members(u.Snapshot, membership.IDs(u.Snapshot.Members)), "initial": u.InitialMembers,
		"version": version, "clusters": formed(u), "rebuild": Verbatim(rebuild(u.Name)),
	}
	c.more["import"] = Verbatim(c.fill(importIt))
	if c.Code == membership.OtherName {
		c.action = reconfigure.ActionAdd // the others are not what this configuration has added
	}
	if c.learns() {
		c.more["import"] = AdoptLearner(c.Facts.Subject) + Verbatim(c.fill(importLearner))
	}
	return c.text(unidentified).Detail
}

const (
	importIt      = "\n\nTo import the member, run this command. " + ofMember + ":\n\n  terraform import 'ADDRESS' {id}"
	importLearner = "\n\nTo manage it as an etcd_learner, import it. ADDRESS is the address of the etcd_learner, " +
		"which you write in place of an etcd_member:\n\n  terraform import 'ADDRESS' {id}"
)

var unidentified = wordings{
	membership.SharedMachine: {sharedMachine},
	membership.AlreadyMember: {{cause: "{Subject} is in the cluster already with these peer URLs ({given}), and was not added by this configuration.",
		next: "To have another member, give it other peer URLs. If the resource has create_before_destroy, remove that line from its lifecycle block, and apply again.{import}"}},
	membership.AddedElsewhere: {{cause: "A member with these peer URLs ({given}) was added outside this configuration as {id} and has not started.",
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
		next: "If machine_id is that of another member's machine, set it to an attribute of its own machine. " +
			"If the resource has create_before_destroy, it would leave after its machine: " +
			"remove that line from its lifecycle block, and apply again.{import}"}},
	membership.OtherName: {{cause: "{Subject} was added as {name}, and its process has published the name {bears} (ETCD_NAME).",
		next: "If {bears} is right, set name = \"{bears}\" in the etcd_member or etcd_learner, then apply again. " +
			"If {name} is right, start its process with the environment of its node, then apply again."}},
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

// joinIncomplete returns the error for a join that did not finish in time.
func joinIncomplete(i *reconfigure.Incomplete) Message {
	var state string
	r, late := i.Request, "Member "+i.Request.Name+" did not join in time"
	who := Verbatim(sprintf("%s (%s)", r.Name, i.Member.ID))
	last := func(action reconfigure.Action, answer, why string) string {
		if i.Decision.Code == "" {
			return answer + sentence(i.Cause) + "."
		}
		return why + reason(action, r.Name, i.Decision, i.Snapshot)
	}
	switch {
	case i.Unsure:
		return New(late, "The request to add the member was sent, and timed out before its outcome was known. The intent is recorded in the cluster: "+
			"apply again to continue, or remove the member from the configuration.")
	case i.Member.ID == 0:
		return New("Member "+r.Name+" could not be added in time", "Nothing was changed in the cluster. %s", Verbatim(last(reconfigure.ActionAdd, "The last answer was: ", "")))
	case !i.Member.Learner:
		return New(late, "%s is a voter according to the member list, and did not answer as one%s. Look at its log, and at what its client URLs answer from here; then apply again.%s",
			who, Verbatim(because(membership.Answer{Detail: i.Decision.Facts.Detail})), Verbatim(replaceIts("is gone, or lost its data")))
	case i.Reached == reconfigure.Added:
		state = sprintf("was added with peer URLs %s as a learner and has not started. The quorum of the cluster has not changed. "+
			"Look at the log of its process: it must run with this name, these peer URLs and the cluster's present members."+logCauses, r.PeerURLs)
	case i.Stalled:
		lag, _, _ := i.Snapshot.Lag(i.Member.ID)
		state = sprintf("has started and shows no progress for %s: it is %d entries behind the leader. It stays a learner. "+
			"Look at its log, its disk and its network.", reconfigure.StallTimeout, lag)
	default:
		state = "has started and was not promoted; it stays a learner. " +
			last(reconfigure.ActionPromote, "The time allowed for it ran out before the members had answered: ", "The last reason: ")
	}
	return New(late, "%s %s\n\nIt is recorded as added by this configuration: apply again to continue, or remove it from the configuration. "+
		"Each apply waits for timeouts.create (an update of an etcd_learner for timeouts.update).%s", who, Verbatim(state), Verbatim(replaceIts("is gone, or has the data of another member")))
}

// replaceIts is advice about the machine of a member.
func replaceIts(machine string) string {
	return "\n\nIf its machine " + machine + ", replace the machine (-replace). The member follows it."
}

// logCauses lists the lines in etcd's log (3.4 to 3.7) that show why a new
// member does not start.
const logCauses = " The log of the machine tells the cause:" +
	"\n  - \"etcd-join:\": the line of the join script says what it waits for, or why the member never starts (exit status 78)." +
	"\n  - \"the data-dir used by this member must be removed\": its disk has the data of a member that was removed." +
	"\n  - \"member count is unequal\": its environment names other members than the cluster has." +
	"\n  - \"incompatible with current running cluster\": its etcd is of another minor version than the cluster takes." +
	"\n  - no line at all: its machine does not run, or was created before its node (create_before_destroy, or no reference from the machine to etcd_cluster)."
