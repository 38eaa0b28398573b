// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RolloutNotLooked is the reason of a rollout that was never refreshed.
const RolloutNotLooked = "the members have not been read since the rollout was created"

// RolloutUnknown is the error for a rollout whose desired values are unknown at plan.
var RolloutUnknown = newMessage("desired is not known at plan",
	"A rollout over members that exist decides at plan who is let through, so what is desired must be known then: an image's name or hash that is a variable, a local or "+
		"the result of a data source, not the ID of something that this very plan creates. Create that in an apply of its own first, then plan again."+DestroyInstead)

// RolloutTakes returns the error for new names in a rollout that are names of existing
// members. have are the values of the rollout's other names, or nil for a new rollout.
func RolloutTakes(taken []string, have, desired map[string]string) Message {
	values, held := map[string]string{}, have != nil
	maps.Copy(values, have)
	for _, name := range taken {
		values[name] = desired[name]
	}
	how, command := "run", "terraform import 'ADDRESS' "+importWord(values)
	if Clean(command) != command {
		how, command = "add an import block with to = ADDRESS and this id, where DESIRED is the value of desired", "id = jsonencode(DESIRED)"
	}
	what, which, ways := "The plan creates an etcd_rollout", "A new rollout", ". There are three ways out. "+Shown+".\n\nIf the state was lost, or if the members are older than the rollout,"
	others := "\n\n" + renamed + "\n\n" + untaint
	if held {
		what, which, ways, others = "The plan adds names to an etcd_rollout", "A rollout", ". "+Shown+".\n\nRemove the rollout from the state:\n\n  terraform state rm 'ADDRESS'\n\nThen", ""
	}
	return newMessage("Rollout does not know what members have",
		"%s, and the cluster has the %s %s already. %s passes what is desired on to all new names at once, and the machines of these members would be replaced together. "+
			"Nothing has been changed%s import it with the values that the members have. If these are the values of desired, %s:\n\n  %s\n\n"+
			"If a member has another value, write that in its place: it is triggers_replace of its etcd_member_config in the state. The next plans then change one member at a time.%s"+
			DestroyInstead,
		what, plural(len(taken), "member", "members"), strings.Join(taken, ", "), which, own(ways), own(how), own(command), own(others))
}

// importWord returns the import ID of a rollout as a shell word.
func importWord(values map[string]string) string {
	id, err := json.Marshal(values)
	if err != nil {
		return "" // a map of texts is always JSON
	}
	return "'" + strings.ReplaceAll(string(id), "'", `\u0027`) + "'"
}

// RolloutImportID returns the error for an invalid import ID of a rollout.
func RolloutImportID(err error) Message {
	return newMessage("Invalid import ID of a rollout",
		"The ID is not a JSON object of names and texts, of at least one: %s. It says what each member has at present. For example:\n\n  "+
			"terraform import etcd_rollout.this '{\"a\":\"3.6.16\",\"b\":\"3.6.16\"}'\n\nIn an import block, write id = jsonencode(…) around the value of desired.",
		err)
}

// RolloutReplaced is the error for a plan that replaces a rollout.
var RolloutReplaced = newMessage("A rollout cannot be replaced",
	"The plan replaces an etcd_rollout. The new one would not know what members have, and would pass what is desired on to all of them at once. "+
		"There is nothing outside the state that could be made again. Nothing has been changed. Leave out -replace, and replace_triggered_by in its lifecycle block. Then run:\n\n  "+
		"terraform apply"+DestroyInstead)

// Rollout says which member is replaced next, and which members wait for what.
// say is false if there is nothing to say.
func Rollout(r membership.Rollout, desired map[string]string, reason string) (t Message, say bool) {
	switch r.Reason {
	case membership.RolloutNext:
		t.Summary = "Rollout: " + r.Advanced + " is next"
		t.Detail = sprintf("%s is replaced with %s by this plan.", r.Advanced, desired[r.Advanced])
		if len(r.Pending) > 0 {
			t.Detail += sprintf(" After it, one with each further apply: %s.", strings.Join(r.Pending, ", "))
		} else {
			t.Detail += " It is the last one."
		}
	case membership.RolloutNamesChange:
		t.Summary = "Rollout: no member is replaced by this plan"
		t.Detail = sprintf("The plan adds or removes members, and replaces no other member. %s: with the next apply.", capital(wait(r.Pending)))
	case membership.RolloutUnhealthy:
		t.Summary = "Rollout: no member is replaced by this plan"
		t.Detail = sprintf("%s, because not every member is healthy: %s. Fix that, then plan again.", capital(wait(r.Pending)), reason)
	default:
		return Message{}, false
	}
	return t, true
}

func wait(names []string) string {
	return strings.Join(names, ", ") + " " + plural(len(names), "waits", "wait")
}

// RolloutReason lists what is unhealthy, or returns "".
func RolloutReason(unhealthy []membership.UnhealthyMember, s membership.Snapshot) string {
	var out []string
	for _, o := range unhealthy {
		switch {
		case o.Member == 0:
			out = append(out, o.Name+" is not in the cluster")
		case s.Alive(o.Member): // it replaces another member, and is not a voter yet
			out = append(out, sprintf("%s (%s) is not a voting member yet", o.Name, o.Member))
		default:
			out = append(out, strings.TrimSuffix(MemberAnswer(s, o.Member), "."))
		}
	}
	return strings.Join(out, "; ")
}

// RolloutCannotLook returns the reason if the cluster does not answer or the
// user may not read below [membership.MetadataPrefix].
func RolloutCannotLook(err error) string {
	if connection.KindOf(err) == connection.PermissionDenied {
		return "the user may not read the keys below " + membership.MetadataPrefix + " (etcdctl role grant-permission ROLE --prefix=true read " + membership.MetadataPrefix + ")"
	}
	return "the members cannot be asked (" + answered(err) + ")"
}

// Upgrade returns the error or the warning for a step from one version of etcd
// to another.
func Upgrade(step membership.VersionStep, code membership.UpgradeCode, s membership.Snapshot) Message {
	from := " to " + Clean(step.To)
	if step.From != "" {
		from = sprintf(" from %s to %s", step.From, step.To)
	}
	switch code {
	case membership.UpgradeSkips:
		return newMessage("Rollout: "+step.Name+" cannot go"+from,
			"%s %s. A member may be one minor version ahead of the others at most; one that is further ahead does not start in their cluster. "+
				"Nothing has been changed. Roll out %s to every member first, then go on.",
			runs(s, step.Members), "etcd "+s.Answer(step.Members[0]).Version, step.Between)
	case membership.UpgradeSkipsBack:
		return newMessage("Rollout: "+step.Name+" cannot go"+from,
			"Every other member is more than one minor version ahead of that, and etcd goes back by one at a time (as of 3.6). Nothing has been changed. "+
				"To return to an older release, restore a snapshot that it made into a new cluster.")
	case membership.UpgradeBack:
		return newMessage("Rollout: "+step.Name+" cannot go"+from,
			"Every other member is one minor version ahead of that, and a new member that is older does not start in their cluster. Nothing has been changed. "+
				"etcd goes back in place only (3.6 and later): etcdctl downgrade enable %s, then restart one member after the other with the older etcd and the data that it has.",
			minorOf(step.To))
	case membership.UpgradeDuringDowngrade:
		return newMessage("Rollout: "+step.Name+" cannot be replaced now",
			"The cluster is being downgraded to %s, as %s %s, and until every member has been no new one starts in it. Nothing has been changed. "+
				"Restart the members that are left with the older etcd; or give it up (etcdctl downgrade cancel). Then apply again.",
			minorOf(step.Between), members(s, step.Members), plural(len(step.Members), "says", "say"))
	default:
		return newMessage("Rollout: upgrade from a release with a bug",
			"%s a release that may have lost a promotion, and then %s refuses to start: \"too many learner members\" "+
				"(etcd-io/etcd#19557, etcd-io/etcd#20793). Roll out 3.5.26 or later within 3.5 first.",
			runs(s, step.Members), step.To)
	}
}

func runs(s membership.Snapshot, ids []membership.MemberID) string {
	return capital(members(s, ids)) + " " + plural(len(ids), "runs", "run")
}

// minorOf returns the version without the patch number, as etcdctl expects it.
func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
