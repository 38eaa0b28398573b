// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// running is the error for a cluster that is created while one runs at its addresses.
func running(snap membership.Snapshot) text.Message {
	return text.New("A cluster runs at these addresses",
		"Cluster %s answers at the addresses of members, and the state has no etcd_cluster for it. A new one would form a second cluster on its machines.\n\n"+
			"If the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'\n\n"+
			"If the state was lost or the resource has another key, import the cluster and its members. Set endpoints of the provider, correct the addresses in these blocks, "+
			"and set ignore_changes for the user data of the machines, which exist:\n\n%s", snap.ClusterID, text.Own(importBlocks(snap)))
}

// inState is the error for a cluster that is created while the state has one at its
// addresses, and nothing answers.
func inState(id membership.ClusterID) text.Message {
	which := "a cluster"
	if id != 0 {
		which = "cluster " + id.String()
	}
	return text.New("The cluster is in the state",
		"The state has %s at these addresses, and it does not answer. It may have formed, and its members would lose their machines.\n\n"+
			"If the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'\n\n"+
			"If it has another key, write a moved block. To begin again instead, run:\n\n  terraform destroy -refresh=false", which)
}

// importBlocks are the import blocks for a cluster and its members.
func importBlocks(snap membership.Snapshot) string {
	out := []string{importBlock("etcd_cluster.this", snap.ClusterID.String())}
	for _, m := range snap.ByName() {
		if m.Started() {
			out = append(out, memberBlock(m.Name, m.ID, m.Learner))
		}
	}
	return strings.Join(out, "\n\n")
}

func importBlock(to, id string) string {
	return fmt.Sprintf("  import {\n    to = %s\n    id = \"%s\"\n  }", to, id)
}

func memberBlock(name string, id membership.MemberID, learner bool) string {
	typ := "etcd_member"
	if learner {
		typ = "etcd_learner"
	}
	return importBlock(fmt.Sprintf("%s.node[%q]", typ, text.Clean(name)), id.String())
}

func noneToImport(id membership.ClusterID) text.Message {
	return text.New("Cannot import cluster "+id.String(), "No member of cluster %s has started and published a name, and names are the keys of members. Nothing was imported. Start its members, then import again.", id)
}

func sameName(name string, a, b membership.MemberID) text.Message {
	return text.New("Two members are named "+name,
		"The members %s and %s have the same name, and names are the keys of members. Nothing was imported. Give one of them another name (ETCD_NAME), restart its process, then import again.", a, b)
}

// notImported is the warning for members that cannot be nodes.
func notImported(members []membership.Member) text.Message {
	var which []string
	for _, m := range members {
		which = append(which, fmt.Sprintf("%s (%s)", m.ID, strings.Join(m.PeerURLs, ", ")))
	}
	return text.New("Members without a usable name are not imported",
		"These members have not started, or have a name that cannot be a key of members: %s. They stay in the cluster. Start such a member and import the cluster again, or remove it:\n\n"+
			"  etcdctl member remove %s", strings.Join(which, "; "), members[0].ID)
}

// answering is the error for an address at which something answers that cannot be asked.
func answering(err error) text.Message {
	return text.New("Something answers at the addresses of the members",
		"The plan creates a cluster, and a server at an address of a member refuses the provider: %v. If a cluster runs there, import it. If not, correct the addresses or the credentials.", err)
}

func unknownValues(what string) text.Message {
	return text.New(what+" is not known at plan",
		"The plan decides which node is rebuilt next, so %s must be known when Terraform plans. Create what it follows from first, for example:\n\n"+
			"  terraform apply -target='ADDRESS OF THAT RESOURCE'\n\nThen run terraform apply.", what)
}

func wrongSize(size int64, initial int) text.Message {
	return text.New("The token is for another number of members",
		"The discovery token forms a cluster of %d, and members has %d that take part in the formation. Set size of the token to %d, or learner = true for members that join later.", size, initial, initial)
}

var tokenComplete = text.New("The token has formed a cluster",
	"All initial members of the discovery token have registered, so its cluster has formed or may have formed. A token serves one cluster. "+
		"These commands show the registrations as members:\n\n  terraform apply -refresh-only -target='etcd_discovery_token.this'\n  terraform state show 'etcd_discovery_token.this'\n\n"+
		"If the resource is tainted, keep it:\n\n  terraform untaint 'etcd_cluster.this'\n\nIf the state has lost the cluster, import it by its ID. "+
		"If no registered member ever served, for example because a machine was replaced at another address after its member had registered, destroy what is left and start again. "+
		"The next apply creates another token:\n\n  terraform destroy -refresh=false\n  terraform apply")

// anotherToken is the error for another discovery token before the cluster has formed.
var anotherToken = text.New("The discovery token changed too early",
	"The cluster has not responded yet, and its nodes have the former token in their user data. Another token would have no effect on them. "+
		"If the cluster has formed, undo the change of discovery. If it has not formed, destroy what is left and start again:\n\n  terraform destroy -refresh=false\n  terraform apply")

var noInitialMember = text.New("No member forms the cluster", "Every member has learner = true. Take learner out of the members that form the cluster. Prefer three or five.")

func firstVersion(names []string, want string, running []string) text.Message {
	return text.New("The first version must be what runs",
		"The state has no version for %s, and the plan would note %s, which is not what they run (%s). Set version to what they run and apply. Then change it.",
		strings.Join(names, ", "), want, strings.Join(running, ", "))
}

// reasonOf says why the nodes that are pending wait, "" if none does. complete is true if
// the cluster has responded once, noAddress if no address of it is known.
func reasonOf(p membership.NodesPlan, complete, noAddress bool) string {
	others := strings.Join(p.Others, ", ")
	switch p.Reason {
	case membership.NodesNext:
		if len(p.Pending) == 0 {
			return ""
		}
		return p.Rebuilt + " is rebuilt first"
	case membership.NodesUnobserved:
		if noAddress {
			return "the addresses of the members are not known: set endpoints of the provider, or ETCDCTL_ENDPOINTS"
		}
		if complete && others != "" {
			return "the members of " + others + " have not been seen since their nodes were built"
		}
		if !complete {
			return "the cluster has not responded yet: if its members cannot form it, run terraform destroy, then terraform apply"
		}
		return "the cluster was not observed at the last refresh, or has no quorum"
	case membership.NodesTooFew:
		return "the quorum needs each of one or two voting members: grow to three first"
	case membership.NodesBelowQuorum:
		return fmt.Sprintf("without it, %d of the voting members would be alive, and the quorum is %d", p.Alive, p.Quorum)
	case membership.NodesUnhealthy:
		return "not healthy: " + others
	case membership.NodesURLsPending:
		return "not restarted with its new peer URLs yet: " + others
	case membership.NodesOnTheWay:
		return "rebuilt and not voting yet: " + others
	case membership.NodesDeviate:
		return others + " runs another version than its node has: the image of the machine decides"
	case membership.NodesVersionUnknown:
		return "the version is not known of " + others
	default:
		return ""
	}
}

// rebuilding is the warning for a node that is rebuilt, or for nodes that wait.
func rebuilding(p membership.NodesPlan, reason, evidence string) (t text.Message, say bool) {
	waiting := strings.Join(p.Pending, ", ")
	switch {
	case p.Failed:
		return text.New("Node "+p.Rebuilt+" has failed and is rebuilt",
			"%s The plan removes the failed member first, then a new machine joins in its place. If it is only rebooting, wait and plan again. Pending after it: %s.", evidence, cmp.Or(waiting, "none")), true
	case p.Rebuilt != "":
		return text.New("Node "+p.Rebuilt+" is rebuilt", "The plan replaces its member and its machine. Pending after it, one in each apply: %s.", cmp.Or(waiting, "none")), true
	case len(p.Pending) > 0:
		return text.New("No node is rebuilt", "Pending: %s. Reason: %s.", waiting, reason), true
	default:
		return t, false
	}
}

// takenBack is the warning for nodes that are again the former ones.
func takenBack(names []string) text.Message {
	which := strings.Join(names, ", ")
	return text.New("The rebuild of "+which+" is taken back",
		"An earlier apply rebuilt %s in etcd_cluster, and the machine and the member did not follow. No node may be rebuilt now. The plan restores the former node, so the machine and the member stay as they are. "+
			"A later plan rebuilds the node in its turn.", which)
}

func stillAnswers(id membership.ClusterID) text.Message {
	return text.New("The cluster still answers",
		"Cluster %s answers, and its etcd_cluster is the last thing to go: its members are removed before. Nothing was changed. If the state has them, destroy them too, and plan again:\n\n  terraform destroy\n\n"+
			"If the state does not have them, nothing in it ends the cluster. To forget the cluster and keep it running, run:\n\n  terraform state rm 'etcd_cluster.this'", id)
}

func deadLearners(names []string) text.Message {
	return text.New("Learners do not answer",
		"These learners do not answer: %s. A learner can block the member that the plan adds again. Remove them, or bring them back.", strings.Join(names, ", "))
}

// silentMember is the warning for a member that does not answer and is not replaced.
func silentMember(name string, seen silence, after time.Duration) text.Message {
	first, evidence := "It has not answered since "+seen.Since.Format(time.RFC3339)+".", seen.Evidence
	last := "With replace_unreachable_after set, a plan rebuilds the node by itself."
	switch {
	case seen.Unseen != "":
		first, evidence = "It does not answer Terraform, and the leader's view of it is missing:", seen.Unseen+"."
		last = "replace_unreachable_after needs the leader's view. Make /metrics reachable at the client URLs: with ETCD_LISTEN_CLIENT_HTTP_URLS it has another port."
	case after > 0:
		last = "With replace_unreachable_after, " + silentUntil(name, seen, after) + ". An apply stores that time, also terraform apply -refresh-only."
	}
	return text.New("Member "+name+" does not answer",
		"%s %s If its machine has failed for good, replace the machine. The member follows it:\n\n  terraform apply -replace='ADDRESS OF THE MACHINE OF %s'\n\n%s",
		text.Own(first), evidence, text.Clean(name), text.Own(last))
}

// silentUntil says when a silent member has failed.
func silentUntil(name string, seen silence, after time.Duration) string {
	return fmt.Sprintf("a plan after %s rebuilds %s, if the leader stays and hears nothing from it", seen.Since.Add(after).Format(time.RFC3339), text.Clean(name))
}

func deviating(names []string) text.Message {
	return text.New("Members run another version than their nodes have",
		"The image of the machine decides which version runs. %s: set version to what the members run, or correct the image. Other nodes wait.", strings.Join(names, ", "))
}

// unclaimed is the warning for members that no resource removes.
func unclaimed(left []membership.NodeHealth) text.Message {
	var which []string
	for _, e := range left {
		which = append(which, fmt.Sprintf("%s (%s)", e.Name, e.Member))
	}
	return text.New("Members stay in the cluster",
		"The cluster lists %s, and members does not have them. No etcd_member is on record for them, so they stay in the cluster and count for its quorum. "+
			"Add them to members and import each as an etcd_member, or remove them:\n\n  etcdctl member remove %s", strings.Join(which, ", "), left[0].Member)
}

// unmanaged is the warning for members that are removed neither with their machines nor
// before.
func unmanaged(left []membership.NodeHealth) text.Message {
	var which, blocks []string
	for _, e := range left {
		which, blocks = append(which, fmt.Sprintf("%s (%s)", e.Name, e.Member)), append(blocks, memberBlock(e.Name, e.Member, !e.Voter))
	}
	return text.New("No resource manages some members",
		"The cluster lists %s, and has no record of an etcd_member or etcd_learner for their nodes. A plan that replaces their machines does not remove them first. "+
			"If this plan creates or updates these resources, the apply records them. If not, import them:\n\n%s", strings.Join(which, ", "), text.Own(strings.Join(blocks, "\n\n")))
}

// anotherObject is the error for a plan that changes nodes of a cluster that another state
// changes.
func anotherObject(other port.ObjectRecord, own, id string) text.Message {
	return text.New("Another state changes this cluster",
		"The cluster has the etcd_cluster with the id %s on record, since %s by %s. This state has %s. Each of them rebuilds one node at a time, so both could rebuild two nodes at once. "+
			"The plan adds, removes or rebuilds a node.\n\nKeep one of them. Remove the other one from its state, which does not change the cluster:\n\n"+
			"  terraform state rm 'etcd_cluster.this'\n\nTo keep this one, run the command here too, and import the cluster again. The first update after the import puts it on record:\n\n%s",
		other.Object, other.Since.Format(time.RFC3339), other.By, own, text.Own(importBlock("etcd_cluster.this", id)))
}

// twoClusters is the error for two etcd_cluster with one peer URL.
func twoClusters(taken []string) text.Message {
	slices.Sort(taken)
	return text.New("Two etcd_cluster have one peer URL",
		"Another etcd_cluster has these peer URLs too: %s. Each etcd_cluster rebuilds one node at a time, so two of them could rebuild two nodes of one cluster. "+
			"Keep one of them. To remove the other one from the state, which does not change the cluster, run:\n\n  terraform state rm 'ADDRESS'", strings.Join(taken, ", "))
}

// notRestored is the warning for a restore that is set or changed after the creation.
func notRestored(id string) text.Message {
	return text.New("The cluster exists, and nothing is restored",
		"The plan stores the new value of restore and restores nothing. If the cluster is lost and the snapshot replaces it, confirm that with its ID in restore:\n\n  replaces_cluster = %q", id)
}

// restoreRefused is the error for a restore in place of a cluster. id is that of the
// cluster in the state.
func restoreRefused(code membership.Code, id string) text.Message {
	const summary = "Cannot restore the cluster"
	switch code {
	case membership.OtherConfirmed:
		return text.New(summary,
			"restore.replaces_cluster is not the cluster in the state. If the cluster in the state is lost and the snapshot replaces it, confirm that with its ID:\n\n"+
				"  replaces_cluster = %q\n\nOtherwise remove replaces_cluster.", id)
	case membership.ConfirmationUnknown:
		return text.New(summary, "replaces_cluster or gone of restore is not known at plan, and the plan must show which cluster is replaced. Write the values themselves.")
	case membership.StillOnTheWay:
		return text.New(summary,
			"The state has cluster %s, which an earlier apply restores, and it has not responded yet. If it is only slow, set restore to what it was and run terraform apply. "+
				"To restore another snapshot, withdraw this restore first: set restore to what it was before, or remove it, and run:\n\n"+
				"  terraform apply -target='etcd_cluster.this'\n\nThen set the new restore.", id)
	case membership.NamesMissing:
		return text.New(summary,
			"The plan restores the cluster and removes names from members. All machines of the lost cluster must be replaced in one apply. Keep all names, and remove some after the restore.")
	case membership.SnapshotUnknown:
		fallthrough
	default:
		return text.New(summary,
			"snapshot, sha256 or revision_bump of restore is not known at plan. The machines, and with them the data, are destroyed before a new snapshot could be taken. Take the snapshot first:\n\n"+
				"  terraform apply -target='etcd_snapshot.this'\n\nThen run terraform apply.")
	}
}

// restorePlanned is the warning for a plan that gives up a cluster.
func restorePlanned(id membership.ClusterID) text.Message {
	return text.New("A snapshot takes the place of a cluster",
		"The plan gives up cluster %s. It replaces every node with its machine, forgets the members, and removes none of them from the cluster. "+
			"Writes that are not in the snapshot are lost. Apply this plan without -target. Until the restored cluster responds, the restore can be withdrawn: remove restore and apply.", id)
}

// withdrawalPlanned is the warning for a plan that withdraws a restore.
func withdrawalPlanned(restored membership.ClusterID, id string) text.Message {
	return text.New("The restore is withdrawn",
		"The plan gives up cluster %s, which an earlier apply began to restore and which has not responded yet. It puts the nodes of cluster %s back. Machines that were replaced in the meantime are replaced again.", restored, id)
}
