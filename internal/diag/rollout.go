// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"errors"
	"fmt"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RolloutNotLooked is the obstacle of a rollout that has not been refreshed.
const RolloutNotLooked = "the members have not been looked at since it was made"

// RolloutUnknown is for a rollout whose desired values are not known at plan.
func RolloutUnknown() Text {
	return Text{
		"desired is not known at plan",
		"A rollout that exists decides at plan who is let through, so what is desired must be known then: an image's name or hash that is a variable, a local or " +
			"the result of a data source, not the ID of something that this very plan creates. Create that first (-target=), then plan again.",
	}
}

// Rollout says who is let through and who waits for what. say is false where
// there is nothing to say.
func Rollout(r membership.Rollout, desired map[string]string, obstacle string) (t Text, say bool) {
	switch r.Reason {
	case membership.RolloutNext:
		t.Summary = "Rollout: " + r.Advanced + " is next"
		t.Detail = fmt.Sprintf("%s is replaced with %s by this plan.", r.Advanced, desired[r.Advanced])
		if len(r.Waiting) > 0 {
			t.Detail += fmt.Sprintf(" After it, one with each further apply: %s.", strings.Join(r.Waiting, ", "))
		} else {
			t.Detail += " It is the last one."
		}
	case membership.RolloutNamesChange:
		t.Summary = "Rollout: nobody is replaced by this plan"
		t.Detail = fmt.Sprintf("Members come or go in this plan, and no other is replaced meanwhile. %s: with the next apply.", capital(wait(r.Waiting)))
	case membership.RolloutUnwell:
		t.Summary = "Rollout: nobody is replaced by this plan"
		t.Detail = fmt.Sprintf("%s, because not every member is well: %s. Mend that, then plan again.", capital(wait(r.Waiting)), obstacle)
	default:
		return Text{}, false
	}
	return t, true
}

func wait(names []string) string {
	return strings.Join(names, ", ") + " " + plural(len(names), "waits", "wait")
}

// RolloutObstacle names what is not well, "" if everything is.
func RolloutObstacle(obstacles []membership.RolloutObstacle, s membership.Snapshot) string {
	var out []string
	for _, o := range obstacles {
		if o.Member == 0 {
			out = append(out, o.Name+" is not in the cluster")
			continue
		}
		out = append(out, strings.TrimSuffix(MemberAnswer(s, o.Member), "."))
	}
	return strings.Join(out, "; ")
}

// RolloutCannotLook is the obstacle of a rollout whose cluster does not answer.
func RolloutCannotLook(err error) string {
	var gone *cluster.Unreachable
	if !errors.As(err, &gone) {
		return "the members cannot be asked (" + sentence(err) + ")"
	}
	var said []string
	for _, e := range gone.Endpoints {
		said = append(said, e.Endpoint+": "+answer(e.Err))
	}
	return "the members cannot be asked (" + strings.Join(said, "; ") + ")"
}
