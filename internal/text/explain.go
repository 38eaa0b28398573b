// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

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
