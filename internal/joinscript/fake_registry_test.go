// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// registry stands in for a discovery registry: v3 at /v3/, v2 and the public
// service's way at /T.
type registry struct {
	url     string
	size    string
	members []string // in order of registration
	code    int      // instead of an answer
	body    string
	auth    string // user and password it wants on v3
	// put is what was registered last, as KEY VALUE; refuse answers instead.
	put, refuse string
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	g := &registry{}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.code != 0 {
		w.WriteHeader(g.code)
		_, _ = io.WriteString(w, g.body)
		return
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	var request struct{ Key, Range_end, Name, Password string } //nolint:revive,staticcheck // the wire's name
	body, _ := io.ReadAll(r.Body)
	answer := map[string]any{}
	const prefix = "/_etcd/registry/T/"
	switch {
	case r.URL.Path == "/v3/auth/authenticate":
		if json.Unmarshal(body, &request) != nil || request.Name+"|"+request.Password != g.auth {
			w.WriteHeader(http.StatusBadRequest)
			answer["error"] = "etcdserver: authentication failed, invalid user ID or password"
			break
		}
		answer["token"] = "abc.12"
	case r.URL.Path == "/v3/kv/range":
		if g.auth != "" && r.Header.Get("Authorization") != "abc.12" {
			w.WriteHeader(http.StatusBadRequest)
			answer["error"] = "etcdserver: user name is empty"
			break
		}
		if json.Unmarshal(body, &request) != nil || request.Key != b64(prefix) || request.Range_end != b64("/_etcd/registry/T0") {
			w.WriteHeader(http.StatusBadRequest)
			answer["error"] = "wrong range " + string(body)
			break
		}
		var kvs []map[string]string
		if g.size != "" {
			kvs = append(kvs, map[string]string{"key": b64(prefix + "_config/size"), "value": b64(g.size), "create_revision": "2"})
		}
		// In order of key, which is not the order of registration.
		for i := len(g.members) - 1; i >= 0; i-- {
			kvs = append(kvs, map[string]string{"key": b64(fmt.Sprintf("%smembers/%x", prefix, 99-i)), "value": b64(g.members[i]), "create_revision": fmt.Sprint(8 + i)})
		}
		answer["kvs"] = kvs
	case r.URL.Path == "/v3/kv/txn":
		g.register(w, body, answer)
	case r.URL.Path == "/T/_config/size" && g.size != "":
		answer["node"] = map[string]any{"key": "/T/_config/size", "value": g.size}
	case r.URL.Path == "/T" && g.size != "":
		var nodes []map[string]any
		for i := len(g.members) - 1; i >= 0; i-- {
			nodes = append(nodes, map[string]any{"key": fmt.Sprintf("/T/%x", 99-i), "value": g.members[i], "createdIndex": 8 + i})
		}
		answer["node"] = map[string]any{"key": "/T", "dir": true, "nodes": nodes}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer["errorCode"], answer["message"] = 100, "Key not found"
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// register carries out a transaction that creates one key.
func (g *registry) register(w http.ResponseWriter, body []byte, answer map[string]any) {
	type put struct{ Key, Value []byte }
	var txn struct {
		Compare []struct {
			Key    []byte
			Target string
		}
		Success []struct{ RequestPut put }
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&txn); {
	case g.refuse != "":
		w.WriteHeader(http.StatusForbidden)
		answer["error"] = g.refuse
	case err != nil || len(txn.Compare) != 1 || txn.Compare[0].Target != "CREATE" ||
		len(txn.Success) != 1 || !bytes.Equal(txn.Compare[0].Key, txn.Success[0].RequestPut.Key):
		w.WriteHeader(http.StatusBadRequest)
		answer["error"] = "wrong transaction " + string(body)
	default:
		answer["succeeded"] = true
		put := txn.Success[0].RequestPut
		g.put = string(put.Key) + " " + string(put.Value)
		g.members = append(g.members, string(put.Value))
	}
}

func TestFounderWithARegistry(t *testing.T) {
	t.Parallel()
	eachShellWithRegistry(t, func(t *testing.T, sh shell) {
		a, b, g := newPeer(t), newPeer(t), newRegistry(t)
		ra, rb, rus := "a="+a.url, "b="+b.url, "us="+own
		na, nb := entry{ID: 11, Name: "a", PeerURLs: []string{a.url}}, entry{ID: 12, Name: "b", PeerURLs: []string{b.url}}
		nus := entry{ID: 20, Name: "us", PeerURLs: []string{own}}
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		down := func() { a.answer(503, ""); b.answer(503, "") }
		formed := joined("us", own, "member-11="+a.url+",member-12="+b.url+","+rus)
		cases := []struct {
			name    string
			size    string
			members []string
			set     func()
			v3, v2  int
			stdout  string // START stands for a start with the founders of the registry
			reason  string
		}{
			{"first", "3", nil, down, exitRetry, 0, "", "registered: waiting for the other founders"},
			{"last", "3", []string{ra, rb}, down, 0, 0, "START", "starting with the founders that the registry names"},
			{"the only one", "1", nil, down, 0, 0, "START", "starting with the founders that the registry names"},
			{"registered before, still open", "3", []string{ra, rus}, down, exitRetry, exitRetry, "", "registered: waiting for the other founders|registered before: waiting for the other founders"},
			{"two have one name", "3", []string{ra, "a=" + b.url, rus}, down, exitRetry, exitRetry, "", "the token cannot be used: two founders have the name a"},
			{"the token is full without it", "2", []string{ra, rb, rus}, func() { a.list(na, nb); b.list(na, nb) }, exitRetry, exitRetry, "", "do not list this member|the token is full and this member is not among its first 2"},
			{"the token is full without it, nobody answers", "2", []string{ra, rb}, down, exitRetry, exitRetry, "", "cannot be asked"},
			{"wiped, and the others say so", "3", []string{ra, rus, rb}, func() { a.list(ea, eb, ran(20, "us", own)); b.list(ea, eb, nus) }, exitNever, exitNever, "", "has run before"},
			{"registered, never run, and the others have formed it", "3", []string{ra, rus, rb}, func() { a.list(ea, eb, nus); b.list(ea, eb, nus) }, 0, 0, formed, "announced"},
			{"registered, never run, and another is forming it", "3", []string{ra, rus, rb}, func() { a.list(na, nb, nus); b.answer(503, "") }, 0, 0, "START", "starting with the founders that the registry names"},
			{"removed, and announced anew", "3", []string{ra, rus, rb}, func() {
				us := entry{ID: 21, PeerURLs: []string{own}, IsLearner: true}
				a.list(ea, eb, us)
				b.list(ea, eb, us)
			}, 0, 0, formed, "announced"},
			{"a token of one, registered before", "1", []string{rus}, down, exitNever, exitNever, "", "registered for a cluster of one and its data is gone"},
			{"no size", "", nil, down, exitRetry, exitRetry, "", "the token cannot be used: "},
			{"size is no number", "three", nil, down, exitRetry, exitRetry, "", "the token cannot be used: "},
			{"size 0", "0", nil, down, exitRetry, exitRetry, "", "the token cannot be used: "},
			{"a registration that is none", "3", []string{"x=$(id)"}, down, exitRetry, exitRetry, "", "a registration cannot be read"},
		}
		for k, protocol := range []string{"v3", "v2"} {
			env := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + dead + "," + strings.TrimPrefix(g.url, "http://")}
			token := "T"
			if protocol == "v2" {
				env = []string{"ETCD_DISCOVERY=" + g.url + "/T"}
				token = g.url + "/T"
			}
			for i, test := range cases {
				if !sh.due(i + k) {
					continue
				}
				t.Run(protocol+" "+test.name, func(t *testing.T) {
					g.size, g.members = test.size, test.members
					test.set()
					code, stdout, reason := test.v3, test.stdout, test.reason
					if protocol == "v2" {
						code = test.v2
					}
					r := ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir())...)
					for _, one := range strings.Split(test.reason, "|") {
						if strings.Contains(r.stderr, one) {
							reason = one
						}
					}
					if stdout == "START" {
						stdout = started(token, g.members...)
					}
					if protocol == "v2" && code == 0 && !slices.Contains(test.members, rus) {
						stdout, reason = "", "" // etcd asks the registry itself
					}
					r.want(t, code, stdout, reason)
				})
			}
			t.Run(protocol+" the registry is away", func(t *testing.T) {
				away := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + dead}
				if protocol == "v2" {
					away = []string{"ETCD_DISCOVERY=" + dead + "/T"}
				}
				ask(t, sh, true, nil, away...).want(t, exitRetry, "", "the registry does not answer: "+dead)
			})
			for i, code := range []int{401, 403, 500, 503} {
				if !sh.due(i + k) {
					continue
				}
				t.Run(fmt.Sprint(protocol, " the registry answers ", code), func(t *testing.T) {
					g.code, g.body = code, "<html>$(id)</html>"
					defer func() { g.code = 0 }()
					ask(t, sh, true, nil, env...).want(t, exitRetry, "", fmt.Sprint("HTTP status ", code))
				})
			}
		}
		t.Run("v3 the registry wants a password", func(t *testing.T) {
			g.size, g.members = "3", nil
			g.auth = `ro"ot|p'a\ss":word`
			defer func() { g.auth = "" }()
			env := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + g.url, "ETCD_DATA_DIR=" + t.TempDir()}
			const waiting = "registered: waiting for the other founders"
			ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot`, `ETCD_DISCOVERY_PASSWORD=p'a\ss":word`)...).want(t, exitRetry, "", waiting)
			g.members = nil
			ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot:p'a\ss":word`)...).want(t, exitRetry, "", waiting)
			r := ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot`, "ETCD_DISCOVERY_PASSWORD=wrong-secret")...)
			r.want(t, exitRetry, "", "the registry does not answer: ")
			if strings.Contains(r.stderr, "wrong-secret") {
				t.Error("standard error shows the password")
			}
		})
	})
}

// What a founder registers is what etcd 3.6 would, under the ID that etcd would
// have: one that was started without the script takes the same place.
func TestRegistration(t *testing.T) {
	t.Parallel()
	eachShellWithRegistry(t, func(t *testing.T, sh shell) {
		g := newRegistry(t)
		g.size = "3"
		env := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + g.url}
		registers := func(t *testing.T, urls, value string, of ...string) {
			t.Helper()
			g.members, g.put = nil, ""
			ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_INITIAL_ADVERTISE_PEER_URLS="+urls)...).want(t, exitRetry, "", "registered: waiting")
			id := membership.ComputeMemberID(of, "T", nil)
			if want := fmt.Sprintf("/_etcd/registry/T/members/%x %s", uint64(id), value); g.put != want {
				t.Errorf("registered\n%s\nwant\n%s", g.put, want)
			}
		}
		registers(t, own, "us="+own, own)
		registers(t, "http://127.0.0.1:9, http://[::1]:1,http://127.0.0.1:10", "us=http://127.0.0.1:10,us=http://127.0.0.1:9,us=http://[::1]:1",
			"http://127.0.0.1:9", "http://[::1]:1", "http://127.0.0.1:10")
		// etcd writes no zeros before the digits of an ID.
		short := own
		for i := 2; membership.ComputeMemberID([]string{short}, "T", nil)>>60 != 0; i++ {
			short = fmt.Sprint("http://127.0.0.1:", i)
		}
		registers(t, short, "us="+short, short)

		for _, urls := range []string{own + "/", "http://127.0.0.1", own + "," + "ftp://127.0.0.1:1", own + ",," + own, "http://user@127.0.0.1:1," + own} {
			g.members, g.put = nil, ""
			r := ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_INITIAL_ADVERTISE_PEER_URLS="+urls)...)
			r.want(t, exitRetry, "", "ETCD_INITIAL_ADVERTISE_PEER_URLS is not a list of URLs with a port: ")
			if g.put != "" {
				t.Errorf("with %s it registers %s", urls, g.put)
			}
		}
		g.refuse = "etcdserver: permission denied"
		ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir())...).want(t, exitRetry, "", "cannot register: "+g.url+": HTTP status 403, etcdserver: permission denied")
	})
}

// etcd 3.6 and later registers itself, and not before it has found its settings to
// be right: a registration cannot be taken back. An etcd that does not run yet is
// waited for.
func TestWhoRegisters(t *testing.T) {
	t.Parallel()
	eachShellWithRegistry(t, func(t *testing.T, sh shell) {
		g := newRegistry(t)
		g.size = "3"
		const own, etcd, broken = "registered: waiting for the other founders", "", "/etcd does not run"
		for i, c := range []struct{ program, reason string }{
			{"echo etcd Version: 3.4.13", own},
			{"echo etcd Version: 3.5.35; echo Git SHA: 3.6", own},
			{"echo etcd Version: 3.6.0-rc.1", etcd},
			{"echo etcd Version: 3.7.3; echo Go Version: go1.5", etcd},
			{"echo etcd Version: 3.10.0", etcd},
			{"echo etcd Version: 4.0.0", etcd},
			{"exit 1", broken},
			{"", broken},
			{"none", broken},
		} {
			if !sh.due(i) {
				continue
			}
			g.members = nil
			bin := t.TempDir()
			if c.program != "none" {
				bin = tools(t, map[string]string{"etcd": "#!/bin/sh\n" + c.program + "\n"})
			}
			r := ask(t, sh, true, nil, "ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS="+g.url, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_JOIN_BIN="+bin)
			code := exitRetry
			if c.reason == etcd {
				code = 0
			}
			r.want(t, code, "", c.reason)
			if (len(g.members) == 1) != (c.reason == own) {
				t.Errorf("%s: registered are %q", c.program, g.members)
			}
		}
		t.Run("etcd may be anywhere", func(t *testing.T) {
			if _, err := os.Stat("/usr/local/bin/etcd"); err == nil {
				t.Skip("there is an etcd in the directory that the script looks in by default")
			}
			g.members = nil
			ask(t, sh, true, nil, "ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS="+g.url, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_JOIN_BIN=").want(t, exitRetry, "", own)
			if len(g.members) != 1 {
				t.Errorf("registered are %q", g.members)
			}
		})
	})
}

// A founder that has registered may be started as long as etcd has not made its
// log: the mark in its place tells so, across runs of the script. It goes with the
// log and with the data.
func TestRegistrationOfOneThatHasNotRun(t *testing.T) {
	t.Parallel()
	eachShellWithRegistry(t, func(t *testing.T, sh shell) {
		g, a := newRegistry(t), newPeer(t)
		dir, elsewhere := filepath.Join(t.TempDir(), "deep", "data"), filepath.Join(t.TempDir(), "wal")
		try := func(env ...string) result {
			t.Helper()
			g.size = "2"
			return ask(t, sh, true, nil, append([]string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + g.url, "ETCD_DATA_DIR=" + dir}, env...)...)
		}
		remove := func(path string) {
			t.Helper()
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		const waits, mayHaveRun = "registered: waiting for the other founders", "registered before, so this member may have run"
		rus, ra := "us="+own, "a="+a.url
		for _, wal := range []string{filepath.Join(dir, "member", "wal"), elsewhere} {
			env := ""
			if wal == elsewhere {
				env = "ETCD_WAL_DIR=" + wal
			}
			g.members = nil
			a.answer(http.StatusServiceUnavailable, "")
			try(env).want(t, exitRetry, "", waits)
			if info, err := os.Stat(wal); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the place of the log is %v, %v; want mode 0700", info, err)
			}
			// Wiped while no cluster can have formed: as if it were new.
			remove(dir)
			remove(wal)
			try(env).want(t, exitRetry, "", waits)
			if want := []string{rus}; !slices.Equal(g.members, want) {
				t.Errorf("registered are %q, want %q", g.members, want)
			}
			// A machine that goes down between its registration and the start of
			// etcd, or before etcd has made its log, carries on. A peer that
			// answers nothing of use does not keep it from that.
			for _, other := range []string{ra, ra, "a=" + dead} {
				g.members = []string{rus, other}
				try(env).want(t, 0, started("T", g.members...), "starting with the founders that the registry names")
			}
			g.members = []string{ra, "b=" + dead}
			try(env).want(t, exitRetry, "", "the token is full and this member is not among its first 2")
			// etcd puts its log in the place of the mark.
			g.members = []string{rus, "a=" + dead}
			remove(wal)
			try(env).want(t, exitRetry, "", mayHaveRun)
			a.list(ran(11, "a", a.url), ran(20, "us", own))
			g.members = []string{rus, ra}
			try(env).want(t, exitNever, "", "has run before")
			remove(dir)
		}
		// Without a mark it does not register.
		g.members = nil
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		try().want(t, exitRetry, "", "cannot write to "+filepath.Join(dir, "member", "wal")+": run this as the user of etcd")
		if g.members != nil {
			t.Errorf("registered are %q", g.members)
		}
	})
}

// One that joins a cluster which is being formed asks the registry in which
// the founders find each other who they are, and never registers there.
func TestJoinerWithARegistry(t *testing.T) {
	t.Parallel()
	eachShellWithRegistry(t, func(t *testing.T, sh shell) {
		a, b, g := newPeer(t), newPeer(t), newRegistry(t)
		g.size = "2"
		ra, rb := "a="+a.url, "b="+b.url
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		us := entry{ID: 20, PeerURLs: []string{own}, IsLearner: true}
		for protocol, env := range map[string][]string{
			"v3": {"ETCD_JOIN_DISCOVERY_TOKEN=T", "ETCD_JOIN_DISCOVERY_ENDPOINTS=" + dead + "," + g.url},
			"v2": {"ETCD_JOIN_DISCOVERY=" + g.url + "/T"},
		} {
			env = append(env, "ETCD_INITIAL_CLUSTER_STATE=existing")
			away := strings.Split(strings.ReplaceAll(strings.Join(env, "\n"), g.url, dead), "\n")
			for i, c := range []struct {
				name    string
				members []string
				set     func()
				env     []string
				code    int
				stdout  string
				reason  string
			}{
				{"not all founders are there", []string{ra}, func() { a.list(ea, us) }, env, exitRetry, "", "not all founders are in the registry yet"},
				{"all are, and none answers", []string{ra, rb}, func() { a.answer(503, ""); b.answer(503, "") }, env, exitRetry, "", "a peer is there but cannot be asked"},
				{"the cluster has not formed", []string{ra, rb}, func() {
					na, nb := entry{ID: 11, Name: "a", PeerURLs: []string{a.url}}, entry{ID: 12, Name: "b", PeerURLs: []string{b.url}}
					a.list(na, nb)
					b.list(na, nb)
				}, env, exitRetry, "", "the peers have not formed their cluster yet"},
				{"not announced", []string{ra, rb}, func() { a.list(ea, eb); b.list(ea, eb) }, env, exitRetry, "", "not announced yet"},
				{"announced", []string{ra, rb}, func() { a.list(ea, eb, us); b.list(ea, eb, us) }, env, 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "announced: starting"},
				{"announced, and a peer is known otherwise", []string{"$(id)"}, nil, append(env, "ETCD_JOIN_PEERS="+b.url), 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "announced: starting"},
				{"wiped", []string{ra, rb}, func() { a.list(ea, eb, ran(20, "us", own)); b.list(ea, eb, ran(20, "us", own)) }, env, exitNever, "", "has run before"},
				{"the registry is away", nil, nil, away, exitRetry, "", "the registry does not answer: " + dead},
				{"the registry is away, and a peer is known otherwise", nil, func() { a.list(ea, eb, us); b.list(ea, eb, us) }, append(away, "ETCD_JOIN_PEERS="+a.url), 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "announced: starting"},
				{"it is the only one that registered", []string{"us=" + own, "x=" + own}, nil, env, exitRetry, "", "the registry names no other founder"},
				{"a registration that is none", []string{"x=$(id)", rb}, nil, env, exitRetry, "", "a registration cannot be read"},
			} {
				if c.set != nil {
					c.set()
				}
				if !sh.due(i) {
					continue
				}
				t.Run(protocol+" "+c.name, func(t *testing.T) {
					g.members = c.members
					ask(t, sh, true, nil, c.env...).want(t, c.code, c.stdout, c.reason)
				})
			}
			t.Run(protocol+" the registry does not know the token", func(t *testing.T) {
				g.size = ""
				defer func() { g.size = "2" }()
				ask(t, sh, true, nil, env...).want(t, exitRetry, "", "the token cannot be used: ")
			})
		}
	})
}
