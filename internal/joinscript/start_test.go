// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// The beginning of a log of etcd 3.6, and the member ID and the cluster ID in it.
var dataLog = []byte{
	4, 0, 0, 0, 0, 0, 0, 132, 8, 4, 16, 0, 0, 0, 0, 0,
	30, 0, 0, 0, 0, 0, 0, 130, 8, 1, 16, 217, 241, 204, 143, 8,
	26, 20, 8, 187, 226, 142, 236, 227, 194, 215, 129, 117, 16, 184, 138, 174,
	164, 218, 249, 229, 218, 29, 0, 0,
}

const (
	dataID      = "75035e163d83b13b"
	dataCluster = "1db597cda48b8538"
)

// Test that the script decides as the rules do.
func TestStarts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		for i, s := range rules.Starts() {
			if sh.due(i) {
				t.Run(s.Name, func(t *testing.T) { sh.decides(t, s) })
			}
		}
	}, "static", "discovery")
}

// randomStates is how many states the script and the rules are compared in.
const randomStates = 250

// Test that the script decides as the rules do in random states, the same ones in each
// run. A state is printed as a line of starts.txt.
func TestRandomStates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		random := rand.New(rand.NewPCG(1, 2))
		made := map[rules.Decision]int{}
		for i := range randomStates {
			s := randomState(random)
			_, s.Before = s.Decide()
			s.Want, _ = s.Decide()
			made[s.Want]++
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				sh.decides(t, s, "TEST_STEP=20") // more than two rounds: peers name others
			})
		}
		t.Log(made)
		for _, d := range []rules.Decision{rules.Wait, rules.Never, rules.Resume, rules.Found, rules.Join, rules.SetAside} {
			if made[d] < randomStates/100 {
				t.Errorf("only %d states to %s", made[d], d)
			}
		}
	}, "static")
}

// randomState returns a case without a result, whose name is its line of starts.txt. Most
// peers give the list of one cluster, and some one that differs in a member.
func randomState(random *rand.Rand) rules.Start {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	names := strings.Split("a b d e f", " ")[:1+random.IntN(5)]
	member := func(name string) string {
		return one(name+"!", name+"!", name+"!", name+"!", name+"!", name+"!", name, "("+name+"!)", "")
	}
	formed, silent := random.IntN(4) > 0, random.IntN(8) == 0
	var truth []string
	for _, name := range names {
		if !formed {
			truth = append(truth, name)
		} else if word := member(name); word != "" {
			truth = append(truth, word)
		}
	}
	truth = append(truth, one("c", "c", "c!", "(c)", "(c)", "(c2)", "(c2)", "(c2)", "c2", "c2!", ""))
	machine := one("", "", "data", "data", "data initial window", "initial", "initial", "initial window", "initial window") + one("", "", "", "", " mark") + " peers="
	var answers []string
	for _, name := range names {
		if random.IntN(3) > 0 {
			machine += name + " "
		}
		list := slices.Clone(truth)
		switch random.IntN(16) {
		case 0:
			list[random.IntN(len(list))] = one("g!", "")
			list[len(list)-1] = one(list[len(list)-1], "c", "c!", "(c)", "(c2)")
		case 1:
			list = []string{"-"}
		case 2:
			continue
		case 3:
			list = append(list, one("", "", "", "@2"))
		}
		if !silent {
			answers = append(answers, name+": "+strings.Join(list, " "))
		}
	}
	name := machine + " | " + strings.Join(answers, "; ")
	s := rules.Parse("|" + name)
	s.Name = name
	// Who is neither known nor named is not asked.
	told := slices.Clone(s.Peers)
	for _, peer := range s.Peers {
		for _, m := range s.Answers[peer].Members {
			told = append(told, m.PeerURL)
		}
	}
	maps.DeleteFunc(s.Answers, func(url string, _ rules.Answer) bool { return !slices.Contains(told, url) })
	return s
}

// decides runs the script in a case of the rules.
func (sh shell) decides(t *testing.T, s rules.Start, more ...string) {
	t.Helper()
	urls := startPeers(t, s)
	data := filepath.Join(t.TempDir(), "data")
	env := append([]string{"ETCD_DATA_DIR=" + data}, more...)
	mark := data + ".etcd-join--"
	if s.Initial {
		now := created
		if !s.Window {
			now += 4000
		}
		env = append(env, "ETCD_INITIAL_CLUSTER=us="+own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(now))
		mark = data + ".etcd-join-T-1800000000-1800003600"
	}
	if s.Mark {
		put(t, filepath.Join(mark, "x"), "")
	}
	if s.Data != 0 {
		put(t, filepath.Join(data, "member", "wal", "0.wal"), string(dataLog))
	}
	var peers []string
	for _, name := range s.Peers {
		peers = append(peers, urls[name])
	}
	r := ask(t, sh, s.Initial, peers, env...)
	_, err := os.Stat(filepath.Join(data, "removed-"+dataID))
	if want := map[rules.Decision]int{rules.Wait: exitRetry, rules.Never: exitNever}[s.Want]; r.code != want || !strings.Contains(r.stderr, s.Words) ||
		strings.Contains(r.stdout, "_STATE=existing") != (s.Want == rules.Join || s.Want == rules.SetAside) ||
		r.stdout != "" && r.code != 0 || (err == nil) != (s.Want == rules.SetAside) {
		t.Errorf("%s: exit code %d, want to %s and %q\n%s%s", s.Name, r.code, s.Want, s.Words, r.stdout, r.stderr)
	}
}

// startPeers starts the peers that answer in a case, and returns the URLs of all members.
func startPeers(t *testing.T, s rules.Start) map[string]string {
	t.Helper()
	urls := map[string]string{s.PeerURL: own}
	at := map[string]*peer{}
	for name := range s.Answers {
		at[name] = newPeer(t)
		urls[name] = at[name].url
	}
	urlOf := func(name string) string {
		if urls[name] == "" {
			urls[name] = fmt.Sprintf("http://127.0.0.1:%d", 2+len(urls))
		}
		return urls[name]
	}
	for _, name := range s.Peers {
		urlOf(name)
	}
	for name, answer := range s.Answers {
		var list []entry
		known := false
		for _, m := range answer.Members {
			e := entry{ID: m.ID, PeerURLs: []string{urlOf(m.PeerURL)}, IsLearner: m.Learner}
			if m.ID == 'c' {
				e.ID, known = 0x75035e163d83b13b, true
			}
			if m.Started {
				e.Name, e.ClientURLs = m.PeerURL, []string{"http://client"}
			}
			list = append(list, e)
		}
		at[name].handle(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case len(list) == 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/members":
				reply(w, map[uint64]string{1: dataCluster, 2: "bad"}[answer.Cluster], list...)
			case known:
				w.WriteHeader(http.StatusPreconditionFailed)
			default:
				w.WriteHeader(http.StatusGone)
			}
		})
	}
	return urls
}
