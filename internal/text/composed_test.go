// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

const (
	infra1 membership.MemberID = 0x8e9e05c52164694c + iota
	infra2
	infra3
)

// answering returns the error for endpoints that answered each in its way.
func answering(kinds ...connection.Kind) error {
	gone := &connection.Unreachable{}
	for i, kind := range kinds {
		endpoint := fmt.Sprintf("https://10.0.1.%d:2379", 10+i)
		cause := errors.New("the original error")
		if kind == connection.Timeout {
			cause = context.DeadlineExceeded
		}
		gone.Answers = append(gone.Answers, connection.Answer{Endpoint: endpoint, Err: &connection.Error{Endpoint: endpoint, Kind: kind, Err: cause}})
	}
	return gone
}

// TestAdvice runs the stanzas of testdata/advice.txt: a code and its facts, and what is seen of
// each member. -rewrite rewrites the file.
func TestAdvice(t *testing.T) {
	datadriven.RunTest(t, "testdata/advice.txt", func(t *testing.T, td *datadriven.TestData) string {
		d := stanza{t, td}
		code, s := membership.Code(d.arg("code", "")), d.snapshot()
		text := Message{"Advice", ""}
		if text.Detail = Advice(membership.Warning{Code: code, Facts: d.facts()}, s); d.Cmd == "maintain" {
			text = Maintenance("do it", &reconfigure.Refusal{Decision: membership.Decision{Code: code, Facts: d.facts()}, Snapshot: s})
		}
		mustFollowPattern(t, text)
		return text.Summary + "\n\n" + text.Detail + "\n"
	})
}

// Every kind of answer has advice, and no advice is given twice.
func TestUnreachable(t *testing.T) {
	all := []named{
		{"none", unreachable("Cannot read the member list", &connection.Unreachable{})},
		{"all silent, each in its way", unreachable("Cannot read the member list", answering(connection.Timeout, connection.NoRoute))},
		{"two causes", unreachable("Cannot read the member list", answering(connection.Refused, connection.WrongPassword))},
		{"no login", unreachable("Cannot read the member list", answering(connection.NoLogin, connection.Refused))},
	}
	for _, kind := range append(constants(t, "../connection/*.go", "Kind"), "something new") {
		all = append(all, named{kind, unreachable("Cannot read the member list", answering(connection.Kind(kind)))})
	}
	mustBeTexts(t, "answers.txt", all)
}

func TestMaintenance(t *testing.T) {
	s := seen(t, "index=5500", "ok", "silent")
	lost := seen(t, "silent", "ok", "silent")
	lost.Linearizable = false
	var all []named
	add := func(name string, err error) { all = append(all, named{name, Maintenance("do it", err)}) }
	add("of a survivor", &reconfigure.Refusal{Action: reconfigure.ActionSave, Decision: lost.Gate(0), Snapshot: lost, Timeout: true})
	stopped := func(action reconfigure.Action, err error, done, left []membership.MemberID) error {
		return &reconfigure.Unfinished{Action: action, Member: infra2, Done: done, Remaining: left, Snapshot: s, Err: err}
	}
	add("failed first", stopped("defragment", context.DeadlineExceeded, nil, []membership.MemberID{infra1}))
	add("failed last", stopped("defragment", errors.New("rpc error"), []membership.MemberID{infra1, infra3}, nil))
	add("half a snapshot", stopped("save", &reconfigure.BadSnapshot{Size: 1000}, nil, nil))
	add("another hash", stopped("save", &reconfigure.BadSnapshot{Size: 1024, Got: "aa", Want: "bb"}, nil, nil))
	add("disk full", stopped("save", &fs.PathError{Op: "write", Path: "/x", Err: errors.New("no space left on device")}, nil, nil))
	add("there meanwhile", stopped("save", &fs.PathError{Op: "link", Path: "/x", Err: fs.ErrExist}, nil, nil))
	add("another cluster", stopped("save", &reconfigure.BackupKept{Path: "etcd.db",
		Was: membership.Backup{Cluster: 0x2a, Least: 9, Most: 10}, Now: membership.Backup{Cluster: 0x2b, Least: 1, Most: 2}}, nil, nil))
	add("is there", &fs.PathError{Path: "/b/etcd.db", Err: fs.ErrExist})
	add("no directory", &reconfigure.NoDirectory{Path: "backup"})
	add("a directory", &reconfigure.IsDirectory{Path: "backup"})
	add("lock lost", &reconfigure.LockLost{Lost: &claim.LostError{Key: "/lock"}})
	add("permission", cluster.ErrPermission)
	add("interrupted", context.Canceled)
	add("other", errors.New("some other thing"))
	two := seen(t, "ok", "ok")
	two.Members[1].Name = "infra1"
	all = append(all,
		named{"no such member", NotOne("Invalid to", "x", nil, s)},
		named{"several members", NotOne("Invalid to", "infra1", two.Find("infra1"), two)},
		named{"provider unknown", UnknownProvider("list members")},
	)
	for _, step := range []reconfigure.Step{
		{Remaining: 2},
		{Done: true, Took: 1500 * time.Millisecond},
		{Done: true, Took: time.Second, Bytes: 500 << 10, Total: 1536 << 10},
		{LeftOut: true},
	} {
		step.Member, step.Snapshot = infra1, s
		all = append(all, named{"progress", Message{"Progress", Progress(step)}})
	}
	mustBeTexts(t, "maintenance.txt", all)
	if got := reference(two, infra2); got != infra2.String() {
		t.Errorf("of two members with one name: %q", got)
	}
}

func TestLockTexts(t *testing.T) {
	const key = "/_terraform/etcd/cdf818194e3a8c32/lock"
	bob := claim.Holder{Who: "bob@ops2", PID: 12, Run: "x", Since: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC), Doing: "add member e"}
	ours := claim.Entry{Key: key, Value: `{"who":"bob@ops2","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`}
	lost := func(l reconfigure.LockLost) Message {
		l.Name = "d"
		return Explain("add", "d", &l)
	}
	gone := &claim.LostError{Key: key}
	mustBeTexts(t, "lock.txt", []named{
		{"held by another run", Explain("remove", "d", &claim.BusyError{Holder: bob, Entry: ours, Waited: 5 * time.Minute, Err: context.DeadlineExceeded})},
		{"held by something else", Explain("add", "d", &reconfigure.Incomplete{Cause: &claim.BusyError{Entry: claim.Entry{Key: key, Value: "hands off", Forever: true}, Err: claim.ErrForever}})},
		{"interrupted while waiting", Explain("add", "d", &claim.BusyError{Entry: ours, Err: context.Canceled})},
		{"behind another change of this run", Explain("remove", "d", &reconfigure.Queued{Behind: "add member e", Err: context.DeadlineExceeded})},
		{"lost, the list not readable", lost(reconfigure.LockLost{Lost: &claim.LostError{Key: key, Late: 41 * time.Second, Err: errors.New("no endpoint answered")}})},
		{"lost, not in the list", lost(reconfigure.LockLost{Lost: gone, Checked: true})},
		{"lost to another run, a learner in the list", lost(reconfigure.LockLost{Lost: &claim.LostError{Key: key, Now: &ours}, Checked: true, Listed: true, Member: membership.Member{ID: 0xd4, Learner: true}})},
		{"lost, a voter in the list", lost(reconfigure.LockLost{Lost: gone, Checked: true, Listed: true, Member: membership.Member{ID: 0xd4}})},
	})
}

func TestHeartbeatAndRecordTexts(t *testing.T) {
	const record = "/_terraform/etcd/cdf818194e3a8c32/members/joiner-1f"
	both := answering(connection.Refused, connection.Timeout)
	failed := func(err error) Message {
		return Failed("start the heartbeat of web1", "readwrite", "/running", err)
	}
	bad := cluster.Malformed{Kind: "ownership record", Key: record, Value: `"hands off"`, Err: errors.New("invalid character 'h'")}
	newer := bad
	newer.Format, newer.Newer = 2, true
	mustBeTexts(t, "record.txt", []named{
		{"no space", failed(&claim.AlarmError{Kind: "NOSPACE"})},
		{"no v2", failed(fmt.Errorf("%w", connection.ErrNoV2))},
		{"denied", failed(&connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.PermissionDenied, Err: errors.New("etcdserver: permission denied")})},
		{"unreachable", failed(both)},
		{"unreachable, in advice", Message{"Advice", Answered(both) + "."}},
		{"unreadable, in advice", Message{"Advice", Answered(errors.New("out of luck")) + "."}},
		{"one endpoint", failed(&connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.Refused, Err: syscall.ECONNREFUSED})},
		{"any other error", failed(errors.New("etcdserver: something new"))},
		{"malformed", Explain("add", "d", fmt.Errorf("reading: %w", &bad))},
		{"newer", Explain("remove", "d", &newer)},
		{"turn left", TurnLeft("d", &cluster.NotDeleted{Key: "/_terraform/etcd/1f/turns/d", Err: errors.New("etcdserver: no leader")})},
		{"turn left, key unknown", TurnLeft("d", errors.New("no endpoint answered"))},
	})
}

// Each mistake in a URL, a name and an initial cluster has a text that shows no secret.
func TestMistakes(t *testing.T) {
	var all []named
	for _, raw := range []string{
		"", "10.0.0.1:2380", "unix://10.0.0.1:2380", "https://root:secret@infra1:2380", "https://:2380", "https://a,b:2380", "https://0.0.0.0:2380", "https://infra1",
		"https://infra1:99999", "https://infra1:2380/members", "https://infra1:2380?a=secret", "https://infra1:port",
	} {
		_, err := membership.NormalizeURL(raw)
		all = append(all, named{"peer URL " + raw, wording(t, err, PeerURL)})
	}
	for _, name := range []string{"", "a=b", "a b", "x/y", strings.Repeat("a", 300)} {
		all = append(all, named{"name " + name, wording(t, membership.ValidateName(name), MemberName)})
	}
	for _, text := range []string{"", "a", "a=http://h:1,b=http://h:1", "a=http://h:1,b=h:2", "a=http://u:secret@h:1", "=http://h:1"} {
		_, err := membership.ParseInitialCluster(text)
		all = append(all, named{"initial cluster " + text, wording(t, err, InitialCluster)})
	}
	mustBeTexts(t, "mistakes.txt", append(all,
		named{"endpoints", NoEndpoints}, named{"duration", InvalidDuration("timeouts.create", "5 minutes")}))
}

// wording returns the text of an error of a type.
func wording[E error](t *testing.T, err error, words func(E) Message) Message {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	return words(e)
}

// Every rule of a plan has a text that names the first member.
func TestPlanRules(t *testing.T) {
	codes := make([]membership.Code, 0, len(planRules))
	for code := range planRules {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	var all []named
	for _, code := range codes {
		f := membership.Facts{Subject: infra1, Others: []membership.MemberID{infra2}, Names: []string{"infra1", "infra2"}}
		switch code {
		case membership.TurnOfAnother:
			f.Turns = []membership.Turn{{Name: "d", Since: time.Date(2026, 11, 21, 1, 30, 57, 0, time.UTC), By: "op@host", Key: "/_terraform/etcd/1f/turns/d; reboot"}}
		case membership.EveryVoterRemoved:
			f.Others = []membership.MemberID{infra1, infra2}
		case membership.SharedMachine:
			f.Detail = "i-0a1b2c3d"
		}
		text := PlanRule(membership.Ruling{Code: code, Facts: f, Entry: membership.Entry{Cluster: 0x2b}}, seen(t, "ok", "silent"))
		if !strings.Contains(text.Detail, "infra1") {
			t.Errorf("%s: %q", code, text.Detail)
		}
		all = append(all, named{string(code), text})
	}
	for _, code := range []membership.Code{membership.SecondReplacement, membership.TooFewStay} {
		f := membership.Facts{Names: []string{"infra1", "infra2"}, Detail: "infra1"}
		text := PlanRule(membership.Ruling{Code: code, Facts: f}, seen(t, "ok", "ok"))
		all = append(all, named{string(code) + ", beside a rebuilt node", text})
	}
	mustBeTexts(t, "planrules.txt", all)
}

// TestRestoreTexts compares the texts about a restore with
// testdata/restore.txt. UPDATE=1 rewrites the file.
func TestRestoreTexts(t *testing.T) {
	const at = "https://10.0.0.1:2379"
	var why membership.RestoreAction
	refused := func(code membership.Code, stated string, snap membership.Snapshot, heard ...membership.Heard) Message {
		return NotGivenUp(&reconfigure.NotGivenUp{Request: membership.GiveUpRequest{Cluster: 0x2b, Gone: strings.Fields(stated)}, Decision: membership.Decision{Code: code, Facts: membership.Facts{Names: []string{"c", "b"}}}, Evidence: membership.Evidence{Snapshot: snap, Heard: heard}}, why)
	}
	down := membership.Heard{Endpoint: "https://10.0.0.2:2379", Detail: "connection refused"}
	two := membership.Snapshot{ClusterID: 0x2b, Members: []membership.Member{{ID: 1, Name: "x"}, {ID: 2, Name: "y"}}}
	all := []Message{
		NotGivenUp(context.Canceled, why),
	}
	other := membership.Heard{Endpoint: at, Detail: "answers for cluster 3c", Cluster: 0x3c, Member: 5}
	third := membership.Heard{Endpoint: "https://etcd.example:2379", Detail: "answers for cluster 4d", Cluster: 0x4d}
	also := other
	also.Endpoint = "https://10.0.0.3:2379"
	evidence := func(heard ...membership.Heard) *reconfigure.NotGivenUp {
		return &reconfigure.NotGivenUp{
			Request: membership.GiveUpRequest{
				Cluster: 0x2b, Known: []membership.Member{{Name: "a"}, {Name: "b"}, {ID: 0xc, Name: "c\n'"}},
			},
			Decision: membership.Decision{Code: membership.OtherServes},
			Evidence: membership.Evidence{Heard: heard, Lists: map[membership.ClusterID][]membership.Member{
				0x3c: {
					{ID: 6, Name: "b", Learner: true, ClientURLs: []string{at}},
					{ID: 5, Name: "a", ClientURLs: []string{at}},
					{ID: 7},
				},
			}},
		}
	}
	unlisted := evidence(other, down)
	unlisted.Evidence.Lists = nil
	creating, refusing := evidence(other, down), evidence(other, third)
	creating.Request, refusing.Request = membership.GiveUpRequest{Forms: true}, membership.GiveUpRequest{Forms: true}
	withoutID := &reconfigure.NotGivenUp{
		Decision: membership.Decision{Code: membership.MayServe},
		Evidence: membership.Evidence{Heard: []membership.Heard{{Endpoint: at, Detail: "permission denied"}, down}},
	}
	all = append(all,
		NotGivenUp(unlisted, membership.RestoreNow), NotGivenUp(evidence(other, third, also), membership.RestoreNow),
		NotForgotten(evidence(other, down)),
		Occupied(creating), Occupied(refusing), Occupied(withoutID), Occupied(context.Canceled),
	)
	for _, why = range []membership.RestoreAction{membership.RestoreNow, membership.RestoreOnTheWay, membership.RestoreWithdrawn} {
		all = append(all,
			NotGivenUp(evidence(other, down, also), why),
			refused(membership.HasQuorum, "", two, membership.Heard{Endpoint: at, Detail: "serves requests"}, down),
			refused(membership.Contradicted, "b c", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
			refused(membership.MayServe, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "permission denied"}, down),
			refused(membership.NotStated, "", membership.Snapshot{}, membership.Heard{Endpoint: at, Detail: "no answer in time"}, down),
			refused(membership.NotStated, "b d", membership.Snapshot{}),
		)
	}
	mustBeTexts(t, "restore.txt", unnamed(all...))
}

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
	replaced := &reconfigure.NotGivenUp{
		Request:  membership.GiveUpRequest{Cluster: 0xc1},
		Decision: membership.Decision{Code: membership.OtherServes},
		Cause:    &reconfigure.OtherCluster{Want: 0xc1, Got: 0xc2, Endpoints: []string{"https://10.0.0.1:2379"}},
		Evidence: membership.Evidence{Heard: []membership.Heard{
			{Endpoint: "https://10.0.0.1:2379", Cluster: 0xc2, Detail: "answers for cluster c2"},
		}},
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
		{"removal, another cluster", Explain("remove", "d", replaced)},
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
