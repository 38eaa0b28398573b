// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// MemberID returns the error for an invalid member ID.
var MemberID = of1[error]("Invalid member ID", "%s.")

// ClusterID returns the error for an invalid cluster ID.
var ClusterID = of1[error]("Invalid cluster ID", "%s.")

// LastVoterForgotten returns the warning for the last voter of a cluster that
// is being destroyed.
var LastVoterForgotten = of2[string, membership.MemberID]("Member %[1]s was the last voter",
	"%s (%s) is the only voter left, so no other member can lead, and etcd cannot remove it. "+
		"It was removed from the state only; the cluster ends with its machine.")

// GoneUnconfirmed returns the warning of a refresh if a member is missing from the
// list of the only member that was asked, and no majority confirms that list.
func GoneUnconfirmed(name string, err error) Message {
	return Message{
		"Cannot confirm that member " + name + " is gone",
		"The member list of one member does not have it, and nothing was dropped from the state on the word of one. " + Explain(reconfigure.ActionRead, name, err).Detail,
	}
}

// NotRefreshed returns the warning for a cluster that cannot be read at
// refresh: its endpoints do not answer, or refuse the provider.
func NotRefreshed(err error) Message {
	summary := "State not refreshed: the cluster does not answer"
	step := cmp.Or(noLogin(err), " Make the members reachable from here, then plan again. If the cluster is gone permanently, "+recoverySteps)
	if cluster.TurnedAway(err) {
		summary, step = "State not refreshed: the cluster refuses the provider", wayOut(err)
	}
	return New(summary, "What is in state is kept as it was, so that plan and destroy remain possible.%s%s", own(step), Answers(err))
}

// cause says why a removal could not be decided.
func cause(err error) string {
	var refusal *reconfigure.Refusal
	if errors.As(err, &refusal) {
		return "\n\n" + reason(refusal.Action, refusal.Name, refusal.Decision, refusal.Snapshot)
	}
	return answers(err)
}

// Explain returns the error for a failed operation on a member.
func Explain(action reconfigure.Action, name string, err error) Message {
	var refusal *reconfigure.Refusal
	var unidentified *reconfigure.Unidentified
	var other *reconfigure.OtherCluster
	var incomplete *reconfigure.Incomplete
	var none *reconfigure.NoCluster
	var bad *cluster.Malformed
	var endpoint *connection.EndpointError
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
		return Message{summary, otherCluster(other) + lastResort(err)}
	case errors.As(err, &endpoint):
		return New(summary, "The endpoint %q %s. Nothing was changed. Correct endpoints, then apply again.%s", endpoint.Endpoint, endpoint.Reason, own(lastResort(err)))
	case errors.As(err, &none):
		return Message{summary, noCluster(none)}
	case errors.Is(err, cluster.ErrNoEndpoints):
		t := NoEndpoints
		t.Detail += lastResort(err)
		return t
	case errors.As(err, new(*connection.Unreachable)):
		return unreachable(summary, err)
	case errors.Is(err, cluster.ErrPermission):
		return Message{summary, deniedRoot(err)}
	case errors.Is(err, cluster.ErrRecordChanged):
		return New(summary, "Another run is working on the same member: its ownership record has changed. Wait for that run to end, then apply again.")
	default:
		return New(summary, "etcd answered: %s.", sentence(err))
	}
}

// noCluster says that a new member found no cluster at its endpoints.
func noCluster(none *reconfigure.NoCluster) string {
	switch {
	case cluster.TurnedAway(none.Cause) || noLogin(none.Cause) != "":
		return "No endpoint gave a member list. Nothing was changed." + wayOut(none.Cause) + answers(none.Cause)
	case none.Forming:
		return "The cluster did not form in time: no endpoint gave a member list. All initial members must run, and find each other, before one of them answers. " +
			"Check the logs of their processes, fix what they report, and apply again." + answers(none.Cause)
	default:
		return "There is no cluster to join: no endpoint gave a member list.\n\nFor a new cluster, use an etcd_cluster. Its initial members form the cluster. " +
			"For an existing cluster, check that its client URLs (port 2379) can be reached from here." + answers(none.Cause)
	}
}

// ImportNotFound returns the error for an import ID that matches no member, or several.
func ImportNotFound(wanted string, found []membership.Member, s membership.Snapshot) Message {
	if len(found) > 1 {
		return New("Cannot import member "+wanted, "%q means %s. Import by the ID of the one you mean.", wanted, members(s, membership.IDs(found)))
	}
	return New("Cannot import member "+wanted, "Cluster %s has no member with this ID, name or peer URL. Its members: %s.", s.ClusterID, members(s, membership.IDs(s.Members)))
}

// adoptLearner says how an etcd_member adopts a learner that is in the cluster.
func adoptLearner(id membership.MemberID) string {
	return sprintf("\n\nTo adopt and promote it, set this in the etcd_member, and apply:\n\n  learner_id = %q", id.String())
}

// ImportOtherRole returns the error for the import of a learner as a member, or
// of a voting member as a learner.
func ImportOtherRole(id membership.MemberID, s membership.Snapshot) Message {
	m, _ := s.Member(id)
	if m.Learner {
		return New("Cannot import member "+m.Name, "%s is a learner. Import it as an etcd_learner.%s", capital(Member(s, id)), own(adoptLearner(id)))
	}
	return New("Cannot import learner "+m.Name, "%s is a voting member. Import it as an etcd_member.", capital(Member(s, id)))
}

// RestartNow returns the warning after an update of peer URLs.
var RestartNow = of2[string, []string]("Restart member %[1]s with its new peer URLs",
	"The cluster now reaches %s at %s. Until its process listens there (ETCD_LISTEN_PEER_URLS, ETCD_INITIAL_ADVERTISE_PEER_URLS), "+
		"the others cannot reach it. Restart it now. Until the metrics show that they reach it there, no change relies on this member, and no other member's peer URLs change.")

// Renamed returns the warning for a member whose name differs from that in the
// state.
func Renamed(state string, m membership.Member) Message {
	return New("Member "+state+" bears another name",
		"The process of member %s now calls itself %s (ETCD_NAME); the state says %s. The member is the same, because its ID is. "+
			"Start the process with its former name again; or, to keep the new one, remove the member from the state (terraform state rm) and import it by its ID.",
		m.ID, m.Name, state)
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

// ImportClusterID returns the error for an invalid import ID.
var ImportClusterID = of1[string]("Invalid import ID",
	"%q is not a cluster ID. It is a hexadecimal number of up to 16 digits, such as the cluster_id of an etcd_member.")

// ImportOtherCluster returns the error for the import of a cluster other than
// the cluster that answers.
func ImportOtherCluster(want string, s membership.Snapshot) Message {
	return New("Cannot import cluster "+want,
		"At the provider's endpoints cluster %s answers, with %s. Nothing was imported. If it is the one, import it by its ID. ADDRESS is the address to import to.\n\n  terraform import 'ADDRESS' %s",
		s.ClusterID, members(s, membership.IDs(s.Members)), s.ClusterID)
}

// ImportClusterSilent returns the error for importing a cluster that does not answer.
func ImportClusterSilent(want string, err error) Message {
	return New("Cannot import cluster "+want,
		"An import asks the cluster at the provider's endpoints, and no endpoint gave a member list. Nothing was imported.%s%s", own(wayOut(err)), Answers(err))
}

// longer are the actions that do not read as "Cannot ... member".
var longer = map[reconfigure.Action]string{reconfigure.ActionReach: "reach the cluster of", reconfigure.ActionRecord: "write the record of"}

// summary returns the summary of a failed action.
func summary(action reconfigure.Action, name string) string {
	return "Cannot " + cmp.Or(longer[action], string(action)) + " member " + name
}

// otherCluster describes endpoints of another cluster than that in the state.
func otherCluster(o *reconfigure.OtherCluster) string {
	return sprintf("The member in state belongs to cluster %s, and the endpoints answer for cluster %s (%s). Nothing was changed. "+
		"Point endpoints at cluster %s, then apply again.", o.Want, o.Got, o.Endpoints, o.Want)
}

// OtherClusterSeen returns the warning for a refresh whose endpoints belong to
// another cluster than the state.
func OtherClusterSeen(o *reconfigure.OtherCluster) Message {
	return New("The endpoints answer for another cluster",
		"The state was not refreshed. %s", own(otherCluster(o)))
}

// BadID returns the error for a member in state whose IDs cannot be parsed.
var BadID = of2[string, error]("Cannot read the ID of member %[1]s",
	"%[2]s. No version of this provider writes that, so the state was changed by something else. Nothing was changed in the cluster. "+
		"Take the member out of the state and import it again; ADDRESS is the address after \"with\":\n\n  terraform state rm 'ADDRESS'\n  terraform import 'ADDRESS' '%[1]s'")

// NoSuchLearner returns the error for a learner_id that no member has.
func NoSuchLearner(id membership.MemberID, s membership.Snapshot) Message {
	return New("No member has the learner_id",
		"learner_id is %s, and cluster %s has no member with that ID. Its members: %s. Nothing was changed. "+
			"Give the id of the etcd_learner to promote, or leave learner_id out."+destroyInstead,
		id, s.ClusterID, members(s, membership.IDs(s.Members)))
}
