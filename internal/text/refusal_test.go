// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

type sight = func(*membership.Member, *membership.Answer)

// seen returns a snapshot of voters infra1, infra2, … that are healthy except
// for the given changes. infra1 leads in term 7.
func seen(changes ...sight) membership.Snapshot {
	s := membership.Snapshot{ClusterID: 0xc1, Linearizable: true, Answers: map[membership.MemberID]membership.Answer{}}
	for i, change := range changes {
		id := membership.MemberID(0x8e9e05c52164694c + uint64(i))
		host := fmt.Sprintf("https://10.0.1.%d", 11+i)
		m := membership.Member{ID: id, Name: fmt.Sprintf("infra%d", i+1), PeerURLs: []string{host + ":2380"}, ClientURLs: []string{host + ":2379"}}
		a := membership.Answer{
			State: membership.Answered, Endpoint: host + ":2379", MemberID: id, ClusterID: s.ClusterID,
			Leader: 0x8e9e05c52164694c, Term: 7, Index: 500, Applied: 500, ReadOK: true, Version: "3.6.16",
		}
		change(&m, &a)
		s.Members = append(s.Members, m)
		s.Answers[id] = a
	}
	return s
}

func ok(*membership.Member, *membership.Answer) {}

func ahead(_ *membership.Member, a *membership.Answer) { a.Index = 5500 }

func silent(_ *membership.Member, a *membership.Answer) {
	*a = membership.Answer{State: membership.Silent, Endpoint: a.Endpoint, Detail: "connection refused"}
}

func unprobed(_ *membership.Member, a *membership.Answer) { *a = membership.Answer{} }

func unstarted(m *membership.Member, a *membership.Answer) {
	m.Name, m.ClientURLs, *a = "", nil, membership.Answer{}
}

func wrongCluster(_ *membership.Member, a *membership.Answer) {
	*a = membership.Answer{State: membership.WrongCluster, Endpoint: a.Endpoint, ClusterID: 0xc2}
}

func learner(m *membership.Member, a *membership.Answer) {
	m.Learner, a.Learner, a.ReadOK = true, true, false
}

func candidate(_ *membership.Member, a *membership.Answer) { a.ReadOK, a.Leader = false, 0 }

func version(v string) sight {
	return func(_ *membership.Member, a *membership.Answer) { a.Version = v }
}

func full(_ *membership.Member, a *membership.Answer) {
	a.Alarms = append(a.Alarms, membership.Alarm{Member: a.MemberID, Kind: membership.AlarmNoSpace})
}

// corrupt raises the alarm for infra2, even if it is not in the list.
func corrupt(_ *membership.Member, a *membership.Answer) {
	a.Alarms = append(a.Alarms, membership.Alarm{Member: 0x8e9e05c52164694d, Kind: membership.AlarmCorrupt})
}

func both(f, g sight) sight {
	return func(m *membership.Member, a *membership.Answer) { f(m, a); g(m, a) }
}

func unconfirmed(s membership.Snapshot) membership.Snapshot {
	s.Linearizable = false
	return s
}

// divided returns a snapshot in which these voters have another member list.
func divided(s membership.Snapshot, voters ...int) membership.Snapshot {
	s.Linearizable = false
	for _, n := range voters {
		s.Dissent = append(s.Dissent, nth(s, n))
	}
	return s
}

func nth(s membership.Snapshot, n int) membership.MemberID { return s.Members[n-1].ID }

// moving returns a snapshot in which the change of peer URLs of a member is not proven.
func moving(s membership.Snapshot, n int, state membership.URLState) membership.Snapshot {
	m := s.Members[n-1]
	c := membership.URLChange{ID: m.ID, PeerURLs: m.PeerURLs, Since: time.Date(2026, 11, 25, 1, 30, 57, 0, time.UTC), By: "alice@ops1", Revision: 57}
	if state == membership.URLsNotRestarted {
		c.Before = []string{"https://10.0.9.12:2380"}
	}
	s.Pending = map[membership.MemberID]membership.Pending{m.ID: {URLChange: c, State: state}}
	return s
}

func readdressing(s membership.Snapshot, n int) textCase {
	return textCase{action: "update", name: fmt.Sprintf("infra%d", n), s: s,
		d: membership.DecideUpdate(s, membership.UpdateRequest{ID: nth(s, n), PeerURLs: []string{"https://10.0.1.99:2380"}})}
}

type textCase struct {
	action  reconfigure.Action
	name    string
	s       membership.Snapshot
	d       membership.Decision
	warning membership.Code // the warning to expect instead of a refusal
}

func (c textCase) text(t *testing.T) Message {
	if c.warning == "" {
		return refused(c.action, c.name, c.d, c.s)
	}
	for _, w := range c.d.Warnings {
		if w.Code == c.warning {
			return WarningText(c.action, c.name, w, c.s)
		}
	}
	t.Fatalf("the decision %v has no warning %q", c.d, c.warning)
	return Message{}
}

func adding(s membership.Snapshot, r membership.AddRequest) textCase {
	if r.PeerURLs == nil {
		r.PeerURLs = []string{"https://10.0.1.99:2380"}
	}
	return textCase{action: "add", name: "infra9", s: s, d: membership.DecideAdd(s, r)}
}

func promoting(s membership.Snapshot, n int) textCase {
	id := nth(s, n)
	before := s.Answer(id)
	before.Applied-- // it has advanced since
	return textCase{action: "promote", name: fmt.Sprintf("infra%d", n), s: s,
		d: membership.DecidePromote(s, id, before)}
}

func removing(s membership.Snapshot, n int, leaving ...int) textCase {
	r := membership.RemoveRequest{ID: nth(s, n)}
	for _, l := range leaving {
		r.Leaving = append(r.Leaving, nth(s, l))
	}
	return textCase{action: "remove", name: fmt.Sprintf("infra%d", n), s: s, d: membership.DecideRemove(s, r)}
}

func replacing(s membership.Snapshot, n int, leaving ...int) textCase {
	c := removing(s, n, leaving...)
	r := membership.RemoveRequest{ID: nth(s, n), Replacement: true}
	for _, l := range leaving {
		r.Leaving = append(r.Leaving, nth(s, l))
	}
	c.action, c.d = "replace", membership.DecideRemove(s, r)
	return c
}

// cleaningUp is the backstop for infran. recorded is the name in its record.
func cleaningUp(s membership.Snapshot, n int, replacement bool, recorded string) textCase {
	m := s.Members[n-1]
	r := membership.CleanUpRequest{
		Name: fmt.Sprintf("infra%d", n), RecordName: recorded,
		Ownership: membership.Ownership{Recorded: true, ID: m.ID, PeerURLs: m.PeerURLs}, Replacement: replacement,
	}
	return textCase{action: "remove", name: r.Name, s: s, d: membership.DecideCleanUp(s, r)}
}

func warning(code membership.Code, c textCase) textCase {
	c.warning = code
	return c
}

func textCases() map[string]textCase {
	mixed := seen(ok)
	mixed.Others = map[membership.ClusterID][]string{0xc3: {"https://10.0.1.13:2379"}, 0xc2: {"https://10.0.1.12:2379"}}
	away := seen(ok, ok, ok)
	gone := promoting(away, 3)
	gone.d = membership.DecidePromote(away, 0xabc, membership.Answer{})
	notOurs := removing(away, 3)
	notOurs.d = membership.DecideRemove(away, membership.RemoveRequest{ID: nth(away, 3), Name: "node-c"})
	alone := promoting(seen(version("3.4.3"), learner), 2)
	alone.action = "add" // the promotion at the end of an addition
	once := promoting(seen(ok, learner), 2)
	once.d = membership.DecidePromote(once.s, nth(once.s, 2), membership.Answer{})
	unnamed := promoting(seen(ok, both(learner, unstarted)), 2)
	unnamed.name = ""
	turn := replacing(seen(ok, ok), 1)
	turn.d = membership.DecideRemove(turn.s, membership.RemoveRequest{ID: nth(turn.s, 1), Replacement: true, Turns: []membership.Turn{
		{Name: "infra3", Voters: 4, Since: time.Date(2026, 11, 21, 1, 30, 57, 0, time.UTC), By: "alice@ops1"},
	}})
	turns := turn
	turns.d = membership.DecideRemove(turn.s, membership.RemoveRequest{ID: nth(turn.s, 1), Replacement: true, Turns: append(turn.d.Facts.Turns,
		membership.Turn{Name: "infra4", Voters: 4, Since: time.Date(2026, 11, 21, 1, 31, 9, 0, time.UTC), By: "bob@ops2"})})
	return map[string]textCase{
		"quorum lost, one of two must come back": adding(unconfirmed(seen(candidate, silent, wrongCluster)), membership.AddRequest{}),
		"quorum lost, both must come back":       replacing(unconfirmed(seen(silent, silent)), 1),
		"quorum lost, an unnamed one":            adding(unconfirmed(seen(candidate, silent, unstarted)), membership.AddRequest{}),
		"no leader, election":                    removing(unconfirmed(seen(candidate, candidate, silent)), 2),
		"no leader, two of them":                 removing(seen(ok, func(_ *membership.Member, a *membership.Answer) { a.Term = 8 }), 2),
		"no leader that can be heard":            promoting(seen(silent, ok, ok, ok, ok, learner), 6),
		"mixed clusters":                         adding(mixed, membership.AddRequest{}),
		"mixed clusters, the learner's address":  promoting(seen(ok, both(learner, wrongCluster)), 2),
		"member list moved":                      adding(unconfirmed(seen(ok)), membership.AddRequest{}),
		"member lists differ":                    adding(divided(seen(ok, ok, ok), 2, 3), membership.AddRequest{}),
		"member lists differ, one of two":        adding(divided(seen(ok, ok), 2), membership.AddRequest{}),
		"not probed, a voter":                    adding(seen(ok, unprobed, ok), membership.AddRequest{}),
		"not probed, the leader":                 removing(seen(silent, ok, ok), 1),
		"not probed, not trusted": adding(seen(ok, func(_ *membership.Member, a *membership.Answer) {
			*a = membership.Answer{State: membership.Unprobed, Endpoint: "https://10.0.1.12:2379", Detail: "not asked: it is not in endpoints or address_map"}
		}, ok), membership.AddRequest{}),
		"not probed, no list at all":   adding(membership.Snapshot{}, membership.AddRequest{}),
		"not probed, quorum elsewhere": adding(seen(ok, silent, silent), membership.AddRequest{}),
		"not probed, a load balancer": promoting(seen(ok, both(learner, func(_ *membership.Member, a *membership.Answer) {
			a.MemberID = 0x8e9e05c52164694c
		})), 2),
		"member down, add":                    adding(seen(ok, silent, ok), membership.AddRequest{}),
		"member down, add on an older one":    adding(seen(ok, version("3.5.29"), ok, ok, silent), membership.AddRequest{}),
		"member down, promote":                promoting(seen(ok, ok, silent, learner), 4),
		"member not started, add":             adding(seen(ok, ok, unstarted), membership.AddRequest{}),
		"learner slot taken":                  adding(seen(ok, both(learner, unstarted)), membership.AddRequest{}),
		"learner slots taken":                 adding(seen(ok, learner, learner), membership.AddRequest{}),
		"below quorum":                        removing(seen(ok, ok, silent), 2),
		"below quorum, waiting":               removing(seen(ok, ok, silent), 2, 3),
		"below quorum, unnamed":               removing(seen(ok, ok, unstarted), 2),
		"name taken":                          adding(away, membership.AddRequest{Name: "infra2"}),
		"peer URL taken":                      adding(away, membership.AddRequest{PeerURLs: []string{"https://10.0.1.12:2380/"}}),
		"loopback peer URL":                   adding(seen(ok), membership.AddRequest{PeerURLs: []string{"http://localhost:2380"}}),
		"loopback peer URL, wildcard":         adding(seen(ok), membership.AddRequest{PeerURLs: []string{"http://0.0.0.0:2380"}}),
		"bad peer URL":                        adding(seen(ok), membership.AddRequest{PeerURLs: []string{"https://root:secret@10.0.1.1:2380"}}),
		"bad peer URL, none":                  adding(seen(ok), membership.AddRequest{PeerURLs: []string{}}),
		"not a member":                        gone,
		"not started":                         promoting(seen(ok, both(learner, unstarted)), 2),
		"not alive, learner":                  promoting(seen(ok, both(learner, silent)), 2),
		"not alive, voter":                    promoting(seen(ok, ok, silent), 3),
		"not alive, calls itself a voter":     promoting(seen(ok, both(learner, func(_ *membership.Member, a *membership.Answer) { a.Learner = false })), 2),
		"other leader":                        promoting(seen(ok, both(learner, func(_ *membership.Member, a *membership.Answer) { a.Term = 6 })), 2),
		"other leader, none":                  promoting(seen(ok, both(learner, func(_ *membership.Member, a *membership.Answer) { a.Leader = 0 })), 2),
		"lagging":                             promoting(seen(func(_ *membership.Member, a *membership.Answer) { a.Index = 90000 }, learner), 2),
		"unconfirmed":                         once,
		"unconfirmed, voter":                  promoting(seen(ok, func(_ *membership.Member, a *membership.Answer) { a.Learner = true }), 2),
		"last voter":                          removing(seen(ok), 1),
		"last voter, replacement":             replacing(seen(ok), 1),
		"last voter, learner stays":           removing(seen(ok, learner), 1),
		"last voter, learner leaves":          removing(seen(ok, learner), 1, 2),
		"not ours":                            notOurs,
		"others not active":                   replacing(seen(ok, ok, silent), 2),
		"others not active, waiting":          replacing(seen(ok, ok, silent, ok), 2, 3),
		"turn of another":                     turn,
		"turn of two others":                  turns,
		"version too old, add":                adding(seen(version("3.3.27")), membership.AddRequest{}),
		"version too old, end of an addition": alone,
		"version too old, promote":            promoting(seen(version("3.4.3"), learner), 2),
		"alarm NOSPACE":                       adding(seen(full, full, ok), membership.AddRequest{}),
		"alarm NOSPACE, replacement":          replacing(seen(full, ok, ok), 2),
		"alarm CORRUPT":                       adding(seen(corrupt, ok, full), membership.AddRequest{}),
		"alarm CORRUPT, the member is gone":   adding(seen(corrupt), membership.AddRequest{}),
		"not started, no name given":          unnamed,
		"voter lives":                         cleaningUp(away, 2, true, "infra2"),
		"voter lives, silent here":            cleaningUp(seen(ok, silent, ok), 2, true, "infra2"),

		"peer URLs pending, not restarted": readdressing(moving(seen(ok, ok, ok), 2, membership.URLsNotRestarted), 3),
		"peer URLs pending, not connected": readdressing(moving(seen(ok, ok, ok), 2, membership.URLsNotConnected), 3),
		"peer URLs pending, not seen":      readdressing(moving(seen(ok, ok, ok), 2, membership.URLsNotSeen), 3),
		"peer URLs pending, promote":       promoting(moving(seen(ok, ok, ok, learner), 2, membership.URLsNotRestarted), 4),
		"peer URLs pending, remove":        removing(moving(seen(ok, ok, ok), 2, membership.URLsNotRestarted), 3),
		"peer URLs pending, one down":      removing(moving(seen(ok, ok, ok, ok, silent), 2, membership.URLsNotRestarted), 3),

		"warning: peer URLs pending":            warning(membership.URLsPending, adding(moving(seen(ok, ok, ok, ok, ok), 2, membership.URLsNotRestarted), membership.AddRequest{})),
		"warning: member down":                  warning(membership.MemberDown, adding(seen(ok, ok, ok, ok, silent), membership.AddRequest{})),
		"warning: members not started":          warning(membership.MemberUnstarted, adding(seen(ok, ok, ok, ok, ok, unstarted, unstarted), membership.AddRequest{})),
		"warning: not probed":                   warning(membership.NotProbed, adding(seen(ok, ok, ok, ok, unprobed), membership.AddRequest{})),
		"warning: tolerance zero, add":          warning(membership.ToleranceZero, adding(seen(ok, ok, ok, silent), membership.AddRequest{})),
		"warning: tolerance zero, remove":       warning(membership.ToleranceZero, removing(seen(ok, ok, ok), 2)),
		"warning: tolerance zero, with one out": warning(membership.ToleranceZero, removing(seen(ok, ok, ok, ok, silent), 2)),
		"warning: known bad release":            warning(membership.KnownBadRelease, promoting(seen(version("3.5.19"), both(version("3.5.19"), learner)), 2)),
		"warning: alarm NOSPACE":                warning(membership.AlarmRaised, removing(seen(ok, full, ok), 3)),
		"warning: no longer managed":            warning(membership.Unmanaged, cleaningUp(away, 3, false, "infra3")),
		"warning: record disagrees":             warning(membership.RecordDisagrees, cleaningUp(seen(ok, both(learner, unstarted)), 2, false, "infra7")),
		"warning: alarm CORRUPT":                warning(membership.AlarmRaised, removing(seen(ok, corrupt, ok), 2)),
	}
}

// TestMembershipTexts compares every text with testdata/membership_texts.txt. Each code
// has one.
func TestMembershipTexts(t *testing.T) {
	cases, all, shown := textCases(), []named(nil), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		all = append(all, named{name, cases[name].text(t)})
		shown[string(cmp.Or(cases[name].warning, cases[name].d.Code))] = true
	}
	for _, code := range constants(t, "../membership/decision.go", "Code") {
		if !shown[code] {
			t.Errorf("%s has no text", code)
		}
	}
	mustBeTexts(t, "membership_texts.txt", all)
}
