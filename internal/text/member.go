// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Member describes a member like etcdctl: its name and its ID, or its ID and
// its peer URLs if it has no name yet.
func Member(s membership.Snapshot, id membership.MemberID) string {
	m, ok := s.Member(id)
	switch {
	case !ok:
		return sprintf("member %s", id)
	case m.Name == "":
		return sprintf("unnamed member (%s) at %s", id, m.PeerURLs)
	}
	return sprintf("%s (%s)", m.Name, id)
}

// members lists several members, as in "a (1), b (2) and c (3)".
func members(s membership.Snapshot, ids []membership.MemberID) string {
	return listed(eachOf(s, ids, Member))
}

// each calls show for each.
func each[T any](all []T, show func(T) string) []string {
	shown := make([]string, 0, len(all))
	for _, one := range all {
		shown = append(shown, show(one))
	}
	return shown
}

// eachOf calls show for each member.
func eachOf(s membership.Snapshot, ids []membership.MemberID, show func(membership.Snapshot, membership.MemberID) string) []string {
	return each(ids, func(id membership.MemberID) string { return show(s, id) })
}

// quoted lists texts in quotes, as in a configuration.
func quoted(words []string) string {
	return strings.Join(each(words, func(w string) string { return sprintf("%q", w) }), ", ")
}

// short returns the short form of a member that was already introduced.
func short(s membership.Snapshot, id membership.MemberID) string {
	if m, ok := s.Member(id); ok && m.Name != "" {
		return Clean(m.Name)
	}
	return "member " + id.String()
}

// orOwn returns name if it is given, otherwise the member's name in the list or its ID.
func orOwn(name string, s membership.Snapshot, id membership.MemberID) string {
	m, _ := s.Member(id)
	return cmp.Or(Clean(name), Clean(m.Name), id.String())
}

func shorts(s membership.Snapshot, ids []membership.MemberID) string {
	return listed(eachOf(s, ids, short))
}

func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// MemberAnswer returns a sentence about what a member answered, or why it could
// not be asked.
func MemberAnswer(s membership.Snapshot, id membership.MemberID) string {
	m, known := s.Member(id)
	a := s.Answer(id)
	who := capital(Member(s, id))
	switch {
	case isPending(s, id):
		return pendingURLs(s, id)
	case s.Alive(id):
		return who + " is alive."
	case a.State == membership.WrongCluster, a.State == membership.Answered && a.MemberID == id && a.ClusterID != s.ClusterID:
		return sprintf("At the address of %s%s a process answers for another cluster (%s).", Member(s, id), in(a.Endpoint), a.ClusterID)
	case a.State == membership.Answered && a.MemberID == id:
		return who + " answers, but serves no linearizable read" + because(a) + "."
	case !known:
		return who + " is not in the member list."
	case !m.Started():
		return who + " was added and has never started."
	case a.State == membership.Silent:
		return who + " does not answer" + because(a) + "."
	case a.State == membership.Answered:
		return sprintf("%s could not be asked: at its address%s %s answers.", who, in(a.Endpoint), Member(s, a.MemberID))
	}
	return who + " could not be asked" + because(a) + "."
}

// memberAnswers returns one sentence for each member.
func memberAnswers(s membership.Snapshot, ids []membership.MemberID) string {
	return strings.Join(eachOf(s, ids, MemberAnswer), " ")
}

// because returns the endpoint and its answer, in parentheses.
func because(a membership.Answer) string {
	said := slices.DeleteFunc([]string{Clean(a.Endpoint), Clean(a.Detail)}, func(s string) bool { return s == "" })
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ": ") + ")"
}

func in(endpoint string) string { return because(membership.Answer{Endpoint: endpoint}) }

func capital(s string) string {
	if strings.HasPrefix(s, "member ") || strings.HasPrefix(s, "unnamed member ") {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s // a name stays unchanged
}

// plural returns the form for a count.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// FailoverEvidence says which voters are lost, and what the promotion of the
// standby waits for.
func FailoverEvidence(s membership.Snapshot, f membership.Failover) string {
	text := strings.Join(eachOf(s, f.Lost, FailureEvidence), " ")
	if f.First {
		text += sprintf(" The promotion waits until %s been removed from the cluster: by the same apply, if that replaces or removes it.",
			shorts(s, f.Lost)+plural(len(f.Lost), " has", " have"))
	}
	return text
}

// FailoverHeldUp returns the warning for a standby that was not promoted.
func FailoverHeldUp(name string, h *reconfigure.HeldUp) Message {
	if h.Back {
		return New("Standby "+name+" was not promoted",
			"%s %s back. %s stays a learner.", capital(members(h.Snapshot, h.Lost)), plural(len(h.Lost), "is", "are"), name)
	}
	voters := membership.IDs(h.Snapshot.Voters())
	dead := unhealthy(h.Snapshot, voters)
	who := cmp.Or(shorts(h.Snapshot, h.Lost), "the voter that does not answer")
	return New("Standby "+name+" was not promoted",
		"If %s failed as a voter, %d of %d voters would be alive; quorum would be %d. Remove %s first: replace it in the same apply "+
			"(replace_unreachable_after, or -replace of its machine) or remove it, then apply again. %s stays a learner.",
		name, len(voters)-len(dead), len(voters)+1, membership.Quorum(len(voters)+1), who, name)
}

// FailureEvidence describes what provider and leader observe of a silent member.
func FailureEvidence(s membership.Snapshot, id membership.MemberID) string {
	leader, _, ok := s.MajorityLeader()
	if !ok {
		return MemberAnswer(s, id)
	}
	return sprintf("%s The leader, %s, has no connection to it.", MemberAnswer(s, id), Member(s, leader))
}

func isPending(s membership.Snapshot, id membership.MemberID) bool {
	_, is := s.Pending[id]
	return is && s.Alive(id)
}

// pendingURLs says which change of peer URLs is not proven, and how far it has come.
func pendingURLs(s membership.Snapshot, id membership.MemberID) string {
	p := s.Pending[id]
	state := sprintf("the metrics of the members do not show whether they find it there. If they do, state it for one run with ETCD_PEER_URLS_IN_USE=%s", p.Statement())
	switch p.State {
	case membership.URLsNotRestarted:
		state = "its process has not been restarted since"
	case membership.URLsNotConnected:
		state = "since its restart, fewer than a majority of the other voters report a connection to it"
	}
	return sprintf("%s got the peer URLs %s at %s from %s, and %s.",
		capital(Member(s, id)), p.PeerURLs, p.Since.UTC().Format(time.RFC3339), p.By, Verbatim(state))
}

// remedyFor says what to do about members on which no change may rely.
func remedyFor(s membership.Snapshot, ids []membership.MemberID) string {
	var out []string
	gone := slices.DeleteFunc(slices.Clone(ids), func(id membership.MemberID) bool { return isPending(s, id) })
	if len(gone) > 0 {
		out = append(out, sprintf("Bring %s back or replace %s", shorts(s, gone), plural(len(gone), "it", "them")))
	}
	for _, id := range ids {
		p, back := s.Pending[id], ""
		if !isPending(s, id) {
			continue
		}
		if len(p.Before) > 0 {
			back = sprintf(", or change its peer URLs back to %s", p.Before)
		}
		out = append(out, sprintf("Restart the process of %s so that it listens at %s (ETCD_LISTEN_PEER_URLS)%s", short(s, id), p.PeerURLs, Verbatim(back)))
	}
	return strings.Join(out, ". ")
}
