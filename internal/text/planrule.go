// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// NeitherNodeNorName is the error for a member with neither config nor name.
var NeitherNodeNorName = New("Neither config nor name",
	"Set config to a node of an etcd_cluster, such as config = etcd_cluster.this.node[each.key].\nFor a process that something else starts, set name and peer_urls instead.")

const (
	// ofMember says what ADDRESS is. A rule that one member breaks may be printed with
	// another one, so it is not always the address after "with".
	ofMember    = "ADDRESS is the address of the resource of {name}"
	rebuildNode = "\n\nTo rebuild its node instead, with user data of today, set this in the etcd_cluster, and apply:\n\n  rebuild = { \"{name}\" = \"1\" }"
	oneMachine  = "\n\nIf an argument of the machines has changed (an image, a size), undo that change, put its value into revision of the etcd_cluster, " +
		"and let the machines take it from node[each.key].revision: one node changes per apply. See " + guides + "roll-an-image"
	importMember = "\n\nIf the state was lost, or the resource got another key, add this block. " + ofMember + ":\n\n  import {\n    to = ADDRESS\n    id = \"{name}\"\n  }"
	growFirst    = "\n\nAdd members until there are three voters, and apply. Then replace this one."
)

// PlanRule returns the text of a rule that a plan breaks. s is what was observed of the
// cluster, if anything.
func PlanRule(r membership.Ruling, s membership.Snapshot) Message {
	names := listed(r.Names)
	why, ok := planRules[r.Code]
	switch {
	case r.Code == membership.EveryVoterRemoved:
		return everyVoterRemoved(s, r.Facts)
	case ok && !isLearner(r, s):
		because := sprintf(why.because, names)
		if r.Code == membership.OthersNotActive || r.Code == membership.NotProbed || r.Code == membership.URLsPending {
			because += " " + memberAnswers(s, r.Facts.Others)
		}
		return New(endangered, "%s"+nothingChanged+"%s"+destroyInstead, own(because), own(why.next(r)+removal(s, r.Facts.Others)))
	case r.Entry.Effect == membership.Created:
		var urls []string
		if r.Entry.After != nil {
			urls = slices.Clone(r.Entry.After.PeerURLs)
		}
		return notAdopted(&reconfigure.Unidentified{
			Name: r.Entry.Name, PeerURLs: urls, InitialMembers: r.Entry.Initial, Snapshot: s,
			Identity: membership.Identity{Code: r.Code, Facts: r.Facts},
		})
	default: // [membership.TurnOfAnother]
		return replacedMeanwhile(membership.Decision{Code: r.Code, Facts: r.Facts}, s)
	}
}

// isLearner reports whether a new member is found in the cluster as a learner. To import
// it as an etcd_member is no way out then.
func isLearner(r membership.Ruling, s membership.Snapshot) bool {
	m, _ := s.Member(r.Facts.Subject)
	return r.Code == membership.AlreadyMember && m.Learner
}

// planRule is a rule in words. next is what to do, with the name of the first member.
type planRule struct{ because, then string }

func (p planRule) next(r membership.Ruling) string {
	return strings.NewReplacer("{name}", Clean(r.Names[0]), "{cluster}", r.Entry.Cluster.String()).Replace(p.then)
}

var planRules = map[membership.Code]planRule{
	membership.SecondReplacement: {"It replaces the members %s. Only one living voter may be replaced per apply, so that the others keep the quorum.",
		oneMachine + "\n\nTo replace the machine of {name} alone, undo the other changes, and use -replace with its address."},
	membership.SecondUnobserved: {"It replaces the members %s, and the cluster cannot be observed from here. Only one living voter may be replaced per apply.",
		oneMachine + "\n\nTo replace {name} alone, undo the other changes."},
	membership.EveryVoterNeeded: {"It replaces %s, and the quorum needs every voter: its machine may be destroyed before another member has its data, or its vote.",
		growFirst},
	membership.NeededUnobserved: {"It replaces %s, and the cluster cannot be observed from here. As far as is known, the quorum needs every voter.",
		growFirst},
	membership.TooFewStay: {"It removes %s and adds members at the same time: fewer of today's voters than their quorum would stay.",
		"\n\nAdd the new members in a first apply, and remove the old ones after it. A name is permanent: a new key is a new node. If only the keys have changed, undo that."},
	membership.NotProbed: {"It replaces %s, and another member cannot be asked.",
		"\n\nMake that member reachable from here (see address_map of the provider), then plan again."},
	membership.OthersNotActive: {"It replaces %s while another member is not active.",
		"\n\nBring that member back, or replace its machine first, then plan again."},
	membership.LearnerSlotTaken: {"It replaces %s while the cluster has a learner, and its version accepts no second one: the new member could not be added.",
		"\n\nPromote or remove the learner first, then plan again."},
	membership.TwoResources: {"Two resources stand for one member: %s.",
		"\n\nIf the resource got another key or type, add a moved block. If two blocks are for one member, remove one of them. To see what the state has, run:\n\n  terraform state list\n\n" +
			"To remove one of two from the state, which does not change the member, run:\n\n  terraform state rm 'ADDRESS'"},
	membership.SharedURL: {"The members %s have one peer URL. Peer URLs are unique in a cluster.",
		"\n\nGive one of them another peer URL."},
	membership.SecondReaddress: {"It changes the peer URLs of %s in place. The process of the first must restart with its new URLs before the next one changes.",
		"\n\nChange the URLs of {name}, apply, restart its process, and then change the next."},
	membership.URLsPending: {"It changes the peer URLs of %s while those of another member are pending.",
		"\n\nRestart the process of that member so that it listens at its new peer URLs (ETCD_LISTEN_PEER_URLS), or change them back. Then plan again."},
	membership.SecondAnnounced: {"It adds the learners %s before their machines exist, and a cluster takes one learner at a time.",
		"\n\nAdd {name}, apply, and then add the next."},
	membership.ClusterCreated: {"It creates the etcd_cluster of %s again: it is tainted, or was replaced or removed from the state. All nodes would be new.",
		"\n\nIf the etcd_cluster is tainted, keep it. ADDRESS is its address:\n\n  terraform untaint 'ADDRESS'\n\nIf the state has lost it, import it by the ID of the cluster:\n\n" +
			"  import {\n    to = ADDRESS\n    id = \"{cluster}\"\n  }"},
	membership.CreatedUnobserved: {"It adds %s, whose node exists, and the cluster cannot be observed from here: the member may be in the cluster, and may live.",
		"\n\nMake sure that the endpoints lead to members that answer, and plan again." + importMember},
	membership.AlreadyMember: {"It adds %s as a new node, and the cluster has a member with its name or peer URL.",
		importMember + "\n\nIf the resource has create_before_destroy, remove that line from its lifecycle block, and apply again.\n\nTo have another member, give it another name and other peer URLs."},
	membership.MachineStays: {"%s gets a new node, and its machine stays: the machine would keep the user data of the old node.",
		"\n\nAdd this to the resource of the machine. NODE is the etcd_cluster with the key of the node, such as etcd_cluster.this.node[each.key]:\n\n" +
			"  lifecycle {\n    replace_triggered_by = [NODE.id]\n  }"},
	membership.ProcessStays: {"It removes %s and adds it again, and its machine stays: its process keeps the data of the removed member, which etcd refuses.",
		"\n\n" + keepPromoted + "\n\nTo replace the member, destroy it first. " + ofMember + ":" + destroyFirst},
	membership.OtherClusterReached: {"It adds %s to the cluster that the provider's endpoints reach, and the state has members of another cluster that it has reached there.",
		"\n\nSet endpoints of the provider (or ETCDCTL_ENDPOINTS) to members of the right cluster. For two clusters, use a provider block for each."},
	membership.PeersMoved: {"It gives %s a new machine with the user data of its node, and none of the peers in that is a voter any more: the machine would never find the cluster.",
		rebuildNode},
	membership.WindowStillOpen: {"It gives %s a new machine, which would still be inside the bootstrap window: without an answer from its peers it would form a second cluster.",
		"\n\nWait until the bootstrap window is over." + rebuildNode},
	membership.ImportedAlone: {"It gives %s a new machine, and its node was imported: the machine does not have the user data of the node, and would not join.",
		rebuildNode},
}
