// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// TestResourceTexts compares the texts about resources with
// testdata/resource.txt, where they can be read like a user sees them. UPDATE=1
// rewrites the file.
func TestResourceTexts(t *testing.T) {
	const peer = "https://10.0.0.4:2380"
	a := membership.Member{ID: 0xa1, Name: "a", PeerURLs: []string{"https://10.0.0.1:2380"}, ClientURLs: []string{"https://10.0.0.1:2379"}}
	d := membership.Member{ID: 0xd4, Name: "d", PeerURLs: []string{peer}, ClientURLs: []string{"https://10.0.0.4:2379"}}
	unstarted := membership.Member{ID: 0xd4, PeerURLs: []string{peer}, Learner: true}
	learner := d
	learner.Learner = true
	snap := func(ms ...membership.Member) membership.Snapshot {
		s := membership.Snapshot{ClusterID: 0xc1, Members: ms, Answers: map[membership.MemberID]membership.Answer{}}
		for _, m := range ms {
			s.Answers[m.ID] = membership.Answer{State: membership.Answered, MemberID: m.ID, ClusterID: 0xc1, Leader: 0xa1, Term: 2, Index: 52000, ReadOK: true}
		}
		return s
	}
	gone, noLogin := answering(connection.Refused, connection.Timeout), answering(connection.Refused, connection.NoLogin)
	kept := func(code membership.Code, cause error) error {
		e := membership.Evidence{}
		for _, a := range endpointsOf(cause) {
			e.Heard = append(e.Heard, membership.Heard{Endpoint: a.Endpoint, Detail: answer(a.Err)})
		}
		return &reconfigure.NotGivenUp{Request: membership.GiveUpRequest{Cluster: 0xc1}, Decision: membership.Decision{Code: code, Facts: membership.Facts{Names: []string{"b", "c"}}}, Evidence: e, Cause: cause}
	}
	unidentified := func(code membership.Code, m membership.Member) *reconfigure.Unidentified {
		return &reconfigure.Unidentified{
			Name: "d", PeerURLs: []string{peer}, Snapshot: snap(a, m),
			Identity: membership.Identity{Code: code, Facts: membership.Facts{Subject: m.ID, Others: []membership.MemberID{m.ID}}},
		}
	}
	request := reconfigure.JoinRequest{Name: "d", PeerURLs: []string{peer}}
	lagging := membership.Decision{Verdict: membership.Wait, Code: membership.Lagging, Facts: membership.Facts{Subject: 0xd4}}
	slot := membership.Decision{Verdict: membership.Wait, Code: membership.LearnerSlotTaken, Facts: membership.Facts{Others: []membership.MemberID{0xd4}}}
	elsewhere := unstarted
	elsewhere.PeerURLs = []string{"https://10.0.0.9:2380"}
	moved := d
	moved.PeerURLs = []string{"https://10.0.0.9:2380"}
	stranger := a
	stranger.ID, stranger.PeerURLs = 0xd4, []string{peer}
	founded := func(others map[membership.ClusterID][]string, version string) error {
		s := snap(a)
		s.Answers[0xa1] = membership.Answer{State: membership.Answered, MemberID: 0xa1, ClusterID: 0xc1, Endpoint: "https://10.0.0.1:2379", Version: version}
		s.Others = others
		return &reconfigure.Unidentified{Name: "d", PeerURLs: []string{peer}, InitialMembers: 3, Snapshot: s,
			Identity: membership.Identity{Code: membership.FormedAlone, Facts: membership.Facts{Subject: 0xa1}}}
	}
	lone := founded(nil, "")
	thrice := founded(map[membership.ClusterID][]string{0xc3: {"https://10.0.0.3:2379"}, 0xc2: {"https://10.0.0.4:2379"}}, "3.5.31")

	dead := snap(a, d)
	dead.Answers[0xd4] = membership.Answer{State: membership.Silent, Endpoint: "https://10.0.0.4:2379", Detail: "connection refused"}

	renamed := func(m membership.Member) membership.Member { m.Name = "zoe"; return m }

	old := snap(a, d)
	old.Answers[0xd4] = membership.Answer{State: membership.Answered, Version: "3.5.35"}

	mustBeTexts(t, "resource.txt", []named{
		{"not adopted", PlanRule(membership.Ruling{Code: membership.NameTaken, Facts: membership.Facts{Subject: 0xd4, Names: []string{"d"}},
			Entry: membership.Entry{Name: "d", Effect: membership.Created, After: &membership.Side{PeerURLs: []string{peer}}}}, snap(a, d))},
		{"a cause", Message{"Cause", "It is unknown." + string(Cause(gone))}},
		{"a cause, refused", Message{"Cause", "It is unknown." + string(Cause(&reconfigure.Refusal{Action: "read", Name: "d", Snapshot: dead, Decision: membership.Decision{Code: membership.NotProbed,
			Facts: membership.Facts{Others: []membership.MemberID{0xd4}, Votes: membership.Votes{Voters: 2, Quorum: 2, Alive: 1}}}}))}},
		{"not refreshed", NotRefreshed(gone)},
		{"not refreshed, wrong password", NotRefreshed(answering(connection.WrongPassword))},
		{"not refreshed, no login", NotRefreshed(noLogin)},
		{"removal, no login", Explain(reconfigure.ActionRemove, "d", kept(membership.NotStated, noLogin))},
		{"not ours: already a member", Explain("add", "d", unidentified(membership.AlreadyMember, d))},
		{"not ours: announced elsewhere", Explain("add", "d", unidentified(membership.AddedElsewhere, unstarted))},
		{"not ours: name taken", Explain("add", "d", unidentified(membership.NameTaken, moved))},
		{"not ours: initial member missing", Explain("add", "d", unidentified(membership.InitialMissing, a))},
		{"not ours: founded alone", Explain("add", "d", lone)},
		{"not ours: founded alone, three times", Explain("add", "d", thrice)},
		{"not ours: initial member of another name", Explain("add", "d", unidentified(membership.InitialRenamed, stranger))},
		{"not ours: other name", Explain("add", "e", unidentified(membership.OtherName, renamed(learner)))},
		{"not ours: other name, with a vote", Explain("add", "e", unidentified(membership.OtherName, renamed(d)))},
		{"not ours: moved", Explain("add", "d", unidentified(membership.MovedMember, moved))},
		{"refused, out of time", Explain("remove", "a", &reconfigure.Refusal{Action: "remove", Name: "a", Timeout: true, Snapshot: snap(a),
			Decision: membership.Decision{Verdict: membership.Wait, Code: membership.ListMoved}})},
		{"other cluster", Explain("read", "d", &reconfigure.OtherCluster{Want: 0xc1, Got: 0xc2, Endpoints: []string{"https://10.0.0.1:2379"}})},
		{"no cluster to join", Explain("configure", "d", &reconfigure.NoCluster{Cause: gone})},
		{"no cluster yet", Explain("add", "d", &reconfigure.NoCluster{Forming: true, Cause: gone})},
		{"no list: wrong password", Explain("configure", "d", &reconfigure.NoCluster{Cause: answering(connection.WrongPassword, connection.Timeout)})},
		{"no list: a learner", Explain("add", "d", &reconfigure.NoCluster{Forming: true, Cause: answering(connection.Learner)})},
		{"no endpoints", Explain("reach", "d", cluster.ErrNoEndpoints)},
		{"quorum lost", Explain("remove", "a", kept(membership.NotStated, &reconfigure.Refusal{Action: "remove", Name: "a", Snapshot: dead, Decision: membership.Decision{Code: membership.QuorumLost,
			Facts: membership.Facts{Subject: 0xa1, Others: []membership.MemberID{0xd4}, Votes: membership.Votes{Voters: 2, Quorum: 2, Alive: 1}}}}))},
		{"unreachable", Explain("remove", "d", kept(membership.NotStated, gone))},
		{"unreachable, has its quorum again", Explain("remove", "d", kept(membership.HasQuorum, gone))},
		{"unreachable, an untrusted certificate", Explain("remove", "d", kept(membership.MayServe, answering(connection.UnknownCA)))},
		{"unreachable, wrong password", Explain("remove", "d", answering(connection.WrongPassword))},
		{"permission denied", Explain("add", "d", errors.Join(cluster.ErrPermission))},
		{"record changed", Explain("add", "d", cluster.ErrRecordChanged)},
		{"interrupted", Explain("add", "d", context.Canceled)},
		{"interrupted while waiting", Explain("add", "d", &reconfigure.Incomplete{Request: request, Member: unstarted, Interrupted: true, Cause: cluster.ErrUnhealthy})},
		{"any other error", Explain("add", "d", errors.New("etcdserver: something new"))},
		{"could not be announced, slot taken", Explain("add", "d", &reconfigure.Incomplete{Request: request, Decision: slot, Snapshot: snap(a, elsewhere), Cause: context.DeadlineExceeded})},
		{"could not be announced", Explain("add", "d", &reconfigure.Incomplete{Request: request, Snapshot: snap(a), Cause: cluster.ErrUnhealthy})},
		{"never started", Explain("add", "d", &reconfigure.Incomplete{Request: request, Member: unstarted, Snapshot: snap(a, unstarted), Cause: context.DeadlineExceeded})},
		{"outcome of the announcement not known", Explain("add", "d", &reconfigure.Incomplete{Request: request, Snapshot: snap(a), Cause: context.DeadlineExceeded, Unsure: true})},
		{"nobody looked", Explain("add", "d", &reconfigure.Incomplete{Request: request, Reached: reconfigure.Started, Member: learner, Snapshot: snap(a, learner), Cause: context.DeadlineExceeded})},
		{"stalled", Explain("add", "d", &reconfigure.Incomplete{Request: request, Reached: reconfigure.Started, Member: learner, Decision: lagging, Snapshot: snap(a, learner), Stalled: true, Cause: context.DeadlineExceeded})},
		{"not promoted", Explain("add", "d", &reconfigure.Incomplete{Request: request, Reached: reconfigure.Started, Member: learner, Decision: lagging, Snapshot: snap(a, learner), Cause: context.DeadlineExceeded})},
		{"voter that does not answer", Explain("add", "d", &reconfigure.Incomplete{Request: request, Reached: reconfigure.Started, Member: d, Snapshot: snap(a, d), Cause: context.DeadlineExceeded,
			Decision: membership.Decision{Verdict: membership.Wait, Code: membership.NotAlive, Facts: membership.Facts{Subject: 0xd4, Detail: "connection refused"}}})},
		{"import, provider unknown", UnknownProvider("import member d")},
		{"version: two minor versions", Upgrade(membership.VersionStep{Name: "a", From: "3.5.35", To: "3.7.3", Members: []membership.MemberID{0xd4}, Between: "3.6", Code: membership.UpgradeSkips}, old)},
		{"version: two minor versions, a new member", Upgrade(membership.VersionStep{Name: "x", To: "3.7.3", Members: []membership.MemberID{0xd4}, Between: "3.6", Code: membership.UpgradeSkips}, old)},
		{"version: two minor versions back", Upgrade(membership.VersionStep{Name: "a", From: "3.7.3", To: "3.5.35", Code: membership.UpgradeSkipsBack}, old)},
		{"version: back", Upgrade(membership.VersionStep{Name: "a", From: "3.7.3", To: "v3.6.16", Code: membership.UpgradeBack}, old)},
		{"version: the cluster goes back", Upgrade(membership.VersionStep{Name: "a", From: "3.7.3", To: "3.6.16", Members: []membership.MemberID{0xa1, 0xd4}, Between: "3.6.0", Code: membership.UpgradeDuringDowngrade}, old)},
		{"version: from too old a release", Upgrade(membership.VersionStep{Name: "a", From: "3.5.12", To: "3.6.16", Members: []membership.MemberID{0xd4}, Between: "3.5.26", Code: membership.UpgradeFromTooOld}, old)},
		{"version: from an older release", Upgrade(membership.VersionStep{Name: "a", From: "3.5.12", To: "3.6.16", Members: []membership.MemberID{0xd4}, Between: "3.5.32", Code: membership.UpgradeFromOlder}, old)},
		{"version: leaves the v2 API", Upgrade(membership.VersionStep{Name: "a", From: "3.5.35", To: "3.6.16", Members: []membership.MemberID{0xd4}, Between: "3.5.32", Code: membership.UpgradeLeavesV2}, old)},
		{"failover", Message{"Standby", FailoverEvidence(dead, membership.Failover{Lost: []membership.MemberID{0xd4}})}},
		{"failover, the lost one first", Message{"Standby", FailoverEvidence(dead, membership.Failover{Lost: []membership.MemberID{0xd4}, First: true})}},
		{"failover, held up", FailoverHeldUp("e", &reconfigure.HeldUp{Lost: []membership.MemberID{0xd4}, Snapshot: dead})},
		{"failover, back", FailoverHeldUp("e", &reconfigure.HeldUp{Lost: []membership.MemberID{0xd4}, Back: true, Snapshot: snap(a, d)})},
		{"endpoint that cannot be used, at destroy", Explain(reconfigure.ActionRemove, "d", kept(membership.NotStated, &membership.URLError{URL: "http://:2379", Problem: membership.URLNoHost, Client: true}))},
		{"no endpoints, at destroy", Explain(reconfigure.ActionRemove, "d", kept(membership.NotStated, cluster.ErrNoEndpoints))},
		{"ID that cannot be read", BadID("d", errors.New("member ID \"\" is empty"))},
		{"record not written", Explain(reconfigure.ActionRecord, "d", cluster.ErrRecordChanged)},
		{"promotion, refused", Explain(reconfigure.ActionPromote, "e", &reconfigure.Refusal{Action: reconfigure.ActionAdd, Name: "e", Snapshot: dead, Decision: membership.Decision{Code: membership.QuorumLost,
			Facts: membership.Facts{Others: []membership.MemberID{0xd4}, Votes: membership.Votes{Voters: 2, Quorum: 2, Alive: 1}}}})},
		{"promotion, unreachable", Explain(reconfigure.ActionPromote, "e", gone)},
		{"promotion, any other error", Explain(reconfigure.ActionPromote, "e", errors.New("etcdserver: something new"))},
		{"duration", InvalidDuration("timeouts.create", "5 minutes")},
	})
}
