// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"strings"
	"testing"
)

// What a voter's own address answers: in upper case what shows a server.
const (
	serves        = 'S'
	leaderless    = 'L'
	refusesLogin  = 'T' // or the certificate, or any other error
	noAnswer      = 's' // does not answer in time, or refuses connections
	notAsked      = 'n'
	replaced      = 'g' // the named cluster answers at the IP address
	mapped        = 'm' // the same through a host name or the address map
	foreign       = 'f' // a cluster that is not named, at the IP address
	foreignMapped = 'F' // the same through a host name or the address map
	anotherMember = 'a' // another member of the list, at the IP address
)

// What the member list is.
const (
	noList   = iota
	complete // has every voter
	stale    // lacks the last voter
)

// lossOf returns a cluster whose voters answer that, and its learner 99.
func lossOf(answers string, list int, stated uint) (Evidence, GiveUpRequest) {
	e := Evidence{Snapshot: Snapshot{Answers: map[MemberID]Answer{}}}
	r := GiveUpRequest{Cluster: 7, Named: []ClusterID{8}}
	if list != noList {
		e.Snapshot.ClusterID, e.Snapshot.Members = 7, []Member{{ID: 99, Name: "learner", Learner: true}}
	}
	for i, a := range answers {
		m := Member{ID: MemberID(i + 1), Name: string(rune('a' + i)), ClientURLs: []string{"https://10.0.0.1:" + string(rune('1'+i))}}
		h := Heard{Endpoint: m.ClientURLs[0], Literal: a != mapped && a != foreignMapped}
		r.Known = append(r.Known, m)
		if stated&(1<<i) != 0 {
			r.Gone = append(r.Gone, m.Name)
		}
		if list == complete || list == stale && i < len(answers)-1 {
			e.Snapshot.Members = append(e.Snapshot.Members, m)
		}
		switch a {
		case serves, leaderless:
			h.Cluster, h.Member = 7, m.ID
			e.Snapshot.Answers[m.ID] = Answer{State: Answered, MemberID: m.ID, ClusterID: 7, ReadOK: a == serves}
		case noAnswer:
			h.Silent = true
		case replaced, mapped:
			h.Cluster, h.Member = 8, 50
		case foreign, foreignMapped:
			h.Cluster, h.Member = 9, 50
		case anotherMember:
			h.Cluster, h.Member = 7, 99
		}
		if a != notAsked {
			e.Heard = append(e.Heard, h)
		}
	}
	return e, r
}

// mayGiveUp is the naive statement of the rule.
func mayGiveUp(answers string, list int, stated uint) bool {
	listed := len(answers)
	if list == stale {
		listed--
	}
	open, speak, lackingIsOpen := 0, 0, false
	for i, a := range answers {
		says := stated&(1<<i) != 0
		server := a == serves || a == leaderless || a == refusesLogin
		switch {
		case a == serves && (list == complete || i < listed), server && says, a == anotherMember && list == noList:
			return false
		case a == foreign, a == foreignMapped:
			return false
		case says, a == replaced, a == anotherMember:
		default:
			open++
			lackingIsOpen = lackingIsOpen || i >= listed
		}
		if (a == serves || a == leaderless) && i < listed {
			speak++
		}
	}
	if list == noList || listed == 0 || lackingIsOpen {
		return open == 0
	}
	return open < listed/2+1 && speak < listed/2+1
}

// TestGiveUp compares the rule with the naive statement, over what each of up to five
// addresses answers, what the list is, and which voters are stated to be gone.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	for voters := 1; voters <= 5; voters++ {
		states := "SLTsngmfFa"
		if voters == 5 {
			states = "SLTsg"
		}
		total := 1
		for range voters {
			total *= len(states)
		}
		for code := range total {
			var answers strings.Builder
			for range voters {
				answers.WriteByte(states[code%len(states)])
				code /= len(states)
			}
			for stated := range uint(1) << voters {
				for list := noList; list <= stale; list++ {
					e, r := lossOf(answers.String(), list, stated)
					d, want := DecideGiveUp(e, r), mayGiveUp(answers.String(), list, stated)
					if (d.Verdict == Go) != want || (d.Code == "") != want {
						t.Fatalf("%s, list %d, stated %05b: %q, want %v", answers.String(), list, stated, d.Code, want)
					}
					if voters == 5 {
						continue
					}
					for i := range r.Known { // as before a cluster was observed
						r.Known[i].ID = 0
					}
					unknown := strings.ContainsAny(answers.String(), "SL") // whose answer it is
					if d := DecideGiveUp(e, r); d.Verdict == Go && !want || !unknown && (d.Verdict == Go) != want {
						t.Fatalf("%s, list %d, stated %05b, without IDs: %q, want %v", answers.String(), list, stated, d.Code, want)
					}
				}
			}
		}
	}
}

// TestOtherServes states the rule about other clusters by itself: while a server answers for one
// that is not named, nothing is given up, at whatever address it answers and whatever else is
// known.
func TestOtherServes(t *testing.T) {
	t.Parallel()
	for what, h := range map[string]Heard{
		"at the address of a member":           {Endpoint: "https://10.0.0.1:1", Literal: true},
		"at an address of the provider":        {Endpoint: "https://10.0.0.9:1", Literal: true},
		"through a host name":                  {Endpoint: "https://etcd.example:1"},
		"beside another cluster, at a gateway": {Endpoint: "https://10.0.0.1:1"},
	} {
		for _, answers := range []string{"sss", "sgs", "TTT", "nnn", "ggg", "Lss"} {
			for list := noList; list <= stale; list++ {
				for _, id := range []ClusterID{7, 8, 9} {
					e, r := lossOf(answers, list, 0b111)
					h.Cluster, h.Member = id, 60
					e.Heard = append(e.Heard, h)
					d := DecideGiveUp(e, r)
					if refused := d.Code == OtherServes; refused != (id == 9) || refused && d.Verdict == Go {
						t.Errorf("cluster %d %s, %s, list %d: %q", id, what, answers, list, d.Code)
					}
					if at := e.Unnamed(r)[9]; (len(at) == 1 && at[0] == h.Endpoint) != (id == 9) {
						t.Errorf("cluster %d %s is at %v", id, what, at)
					}
				}
			}
		}
	}
	e, r := lossOf("LLs", complete, 0)
	e.Heard = append(e.Heard, Heard{Endpoint: "https://10.0.0.9:1", Cluster: 9})
	if d := DecideGiveUp(e, r); d.Code != HasQuorum { // it leads back to the cluster itself
		t.Errorf("a cluster that may serve, beside another one: %q", d.Code)
	}
	for _, named := range [][]ClusterID{nil, {0}, {7}} { // what the state does not know is not named
		r := GiveUpRequest{Cluster: 7, Known: r.Known, Named: named, Gone: []string{"a", "b", "c"}}
		e := Evidence{Heard: []Heard{{Endpoint: "x", Cluster: 8, Literal: true}}}
		if d := DecideGiveUp(e, r); d.Code != OtherServes {
			t.Errorf("named %v: %q", named, d.Code)
		}
	}
}

// A cluster forms only where nothing answers. Silence is what a first apply finds, and also a
// tunnel without a server.
func TestFormsWhereNothingRuns(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]Code{
		"": "", "sns": "", "sfs": OtherServes, "nnF": OtherServes, "sgs": OtherServes, "sLs": OtherServes,
		"Sss": OtherServes,
	} {
		e, _ := lossOf(answers, complete, 0)
		if d := DecideGiveUp(e, GiveUpRequest{Forms: true}); d.Code != want || (d.Verdict == Go) != (want == "") {
			t.Errorf("%s: %q, want %q", answers, d.Code, want)
		}
	}
	for h, want := range map[Heard]Code{
		{}: "", {Silent: true}: "", {Refuses: true}: MayServe, {Silent: true, Refuses: true}: MayServe,
		{Refuses: true, Cluster: 7}: OtherServes,
	} {
		d := DecideGiveUp(Evidence{Heard: []Heard{h}}, GiveUpRequest{Forms: true})
		if d.Code != want || (d.Verdict == Go) != (want == "") {
			t.Errorf("%+v: %q, want %q", h, d.Code, want)
		}
	}
}

// givenUp shows what is said of each line: what the voters a, b and so on answer, what the
// member list is, and which voters are stated to be gone.
func givenUp(_ *testing.T, f []string) (any, error) {
	var stated uint
	for _, name := range f[2] {
		stated |= 1 << (name - 'a')
	}
	e, r := lossOf(f[0], map[string]int{"none": noList, "complete": complete, "stale": stale}[f[1]], stated)
	d := DecideGiveUp(e, r)
	if d.Verdict == Go {
		return "go", nil
	}
	return fmt.Sprintf("%s %v", d.Code, d.Facts.Names), nil
}

// One address for several members proves nothing, and a load balancer can have more.
// Without proof or statement nothing is given up, also not by the zero values.
func TestGiveUpBehindALoadBalancer(t *testing.T) {
	t.Parallel()
	e, r := lossOf("sss", complete, 0b111)
	e.Heard = append(e.Heard, Heard{Endpoint: "https://10.0.0.9:1"})
	if d := DecideGiveUp(e, r); d.Code != MayServe {
		t.Errorf("a load balancer that refuses the certificate: %q", d.Code)
	}
	e, r = lossOf("Lgg", complete, 0)
	for i := range e.Snapshot.Members { // one address for all
		e.Snapshot.Members[i].ClientURLs = []string{e.Heard[1].Endpoint}
	}
	if d := DecideGiveUp(e, r); d.Code != NotStated {
		t.Errorf("another cluster behind a load balancer: %q", d.Code)
	}
	e, r = lossOf("ggg", noList, 0)
	for i := range r.Known { // without IDs too
		r.Known[i].ID, r.Known[i].ClientURLs = 0, []string{e.Heard[1].Endpoint}
	}
	if d := DecideGiveUp(e, r); d.Code != NotStated {
		t.Errorf("another cluster behind a load balancer, without IDs: %q", d.Code)
	}
	for _, r := range []GiveUpRequest{{}, {Cluster: 7}, {Gone: []string{"a"}}} {
		if d := DecideGiveUp(Evidence{}, r); d.Code != NotStated {
			t.Errorf("%+v: %q", r, d.Code)
		}
	}
}

// mayRestore, mayWithdraw and goesOn state what a plan may do, each by itself.
func mayRestore(r RestoreRequest) bool {
	confirmed := r.Confirmed != 0 && !r.Unknown && r.Confirmed == r.Cluster && r.Confirmed != r.Replaced
	return confirmed && r.Before == 0 && r.SnapshotKnown && !r.NamesMissing
}

func mayWithdraw(r RestoreRequest) bool {
	return !r.Unknown && r.Before != 0 && (r.Confirmed == 0 || r.Confirmed == r.BeforeReplaced)
}

func goesOn(r RestoreRequest) bool {
	return !r.Unknown && r.Before != 0 && r.Confirmed == r.Before && r.Confirmed != r.BeforeReplaced && !r.SnapshotChanged
}

func changesNothing(r RestoreRequest) bool {
	return !r.Unknown && r.Before == 0 && (r.Confirmed == 0 || r.Confirmed == r.Replaced)
}

// TestDecideRestore compares the decision with the statements above, for each request with
// up to three clusters. A refusal names something that is true of the request.
func TestDecideRestore(t *testing.T) {
	t.Parallel()
	wrong := map[Code]func(RestoreRequest) bool{
		ConfirmationUnknown: func(r RestoreRequest) bool { return r.Unknown },
		OtherConfirmed:      func(r RestoreRequest) bool { return r.Confirmed != r.Cluster && r.Confirmed != 0 },
		SnapshotUnknown:     func(r RestoreRequest) bool { return !r.SnapshotKnown },
		NamesMissing:        func(r RestoreRequest) bool { return r.NamesMissing },
		StillOnTheWay: func(r RestoreRequest) bool {
			return r.Before != 0 && (r.Confirmed == r.Cluster || r.Confirmed == r.Before && r.SnapshotChanged)
		},
	}
	seen := map[Code]bool{}
	ids := []ClusterID{0, 1, 2, 3}
	for n := range 4 * 4 * 4 * 4 * 4 * 16 {
		r := RestoreRequest{
			Cluster: ids[n%4], Replaced: ids[n/4%4], Before: ids[n/16%4], BeforeReplaced: ids[n/64%4], Confirmed: ids[n/256%4],
			Unknown: n/1024%2 == 1, SnapshotKnown: n/2048%2 == 1, SnapshotChanged: n/4096%2 == 1, NamesMissing: n/8192 == 1,
		}
		want := RestoreRefused
		for action, is := range map[RestoreAction]func(RestoreRequest) bool{
			RestoreNow: mayRestore, RestoreWithdrawn: mayWithdraw,
			RestoreOnTheWay: goesOn, RestoreNothing: changesNothing,
		} {
			if !is(r) {
				continue
			}
			if want != RestoreRefused {
				t.Fatalf("%+v: two statements are true", r)
			}
			want = action
		}
		got, code := DecideRestore(r)
		if got != want || (code != "") != (want == RestoreRefused) || code != "" && !wrong[code](r) {
			t.Fatalf("%+v: %v %q, want %v", r, got, code, want)
		}
		seen[code] = true
	}
	if len(seen) != len(wrong)+1 {
		t.Errorf("codes %v", seen)
	}
}
