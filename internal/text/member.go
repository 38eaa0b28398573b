// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
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
	default:
		return sprintf("%s (%s)", m.Name, id)
	}
}

// members lists several members, as in "a (1), b (2) and c (3)".
func members(s membership.Snapshot, ids []membership.MemberID) string {
	return listed(each(s, ids, Member))
}

// each calls show for each member.
func each(s membership.Snapshot, ids []membership.MemberID, show func(membership.Snapshot, membership.MemberID) string) []string {
	shown := make([]string, 0, len(ids))
	for _, id := range ids {
		shown = append(shown, show(s, id))
	}
	return shown
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
	return listed(each(s, ids, short))
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
	default:
		return who + " could not be asked" + because(a) + "."
	}
}

// memberAnswers returns one sentence for each member.
func memberAnswers(s membership.Snapshot, ids []membership.MemberID) string {
	return strings.Join(each(s, ids, MemberAnswer), " ")
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
