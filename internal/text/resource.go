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

// NotOne returns the error for a text that matches no member, or several.
func NotOne(summary, wanted string, found []membership.Member, s membership.Snapshot) Message {
	if len(found) > 1 {
		return New(summary, "%q means %s. Give the ID of the one that is meant.", wanted, own(members(s, membership.IDs(found))))
	}
	return New(summary, "Cluster %s has no member with the ID or the name %q. Its members: %s.", s.ClusterID, wanted, Members(s))
}

// Members lists the members of a cluster.
func Members(s membership.Snapshot) Own { return own(members(s, membership.IDs(s.ByName()))) }

// AdoptLearner says how an etcd_member adopts a learner that is in the cluster.
func AdoptLearner(id membership.MemberID) Own {
	return own(sprintf("\n\nTo adopt and promote it, set this in the etcd_member, and apply:\n\n  learner_id = %q", id.String()))
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

// longer are the actions that do not read as "Cannot ... member".
var longer = map[reconfigure.Action]string{reconfigure.ActionReach: "reach the cluster of", reconfigure.ActionRecord: "write the record of"}

// summary returns the summary of a failed action.
func summary(action reconfigure.Action, name string) string {
	return "Cannot " + cmp.Or(longer[action], string(action)) + " member " + name
}

// otherCluster describes endpoints of another cluster than that in the state.
func otherCluster(o *reconfigure.OtherCluster) string {
	return sprintf("The state has cluster %s, and the endpoints answer for cluster %s (%s). Nothing was changed. "+
		"Point endpoints at cluster %s, then apply again.", o.Want, o.Got, o.Endpoints, o.Want)
}

// OtherClusterSeen returns the warning for a refresh whose endpoints belong to
// another cluster than the state.
func OtherClusterSeen(o *reconfigure.OtherCluster) Message {
	return New("The endpoints lead to another cluster",
		"The state was not refreshed. %s", own(otherCluster(o)))
}

// BadID returns the error for a member in state whose IDs cannot be parsed.
func BadID(name string, err error) Message {
	return New("Cannot read the ID of member "+name,
		"%[2]s. No version of this provider writes that, so the state was changed by something else. Nothing was changed in the cluster. "+
			"Take the member out of the state and import it again; ADDRESS is the address after \"with\":\n\n  terraform state rm 'ADDRESS'\n  terraform import 'ADDRESS' '%[1]s'", name, err)
}
