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
	"slices"
	"strings"
	"testing"
)

// registry simulates a discovery cluster: v3 at /v3/, v2 and the protocol of
// the public service at /T.
type registry struct {
	url     string
	size    string
	members []string // in order of registration
	code    int      // returned instead of an answer
	body    string
	auth    string // required user and password on v3
	// put is the last registration, as KEY VALUE. refuse is the answer instead.
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
		// Sorted by key, not by registration.
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

// register executes a transaction that creates one key.
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
	each(t, func(t *testing.T, sh shell) {
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
			stdout  string // START represents a start with the registered initial members
			reason  string
		}{
			{"first", "3", nil, down, exitRetry, 0, "", "registered: waiting for the other initial members"},
			{"last", "3", []string{ra, rb}, down, 0, 0, "START", "starting with the initial members of the token"},
			{"the only one", "1", nil, down, 0, 0, "START", "starting with the initial members of the token"},
			{"registered before, still open", "3", []string{ra, rus}, down, exitRetry, exitRetry, "", "registered: waiting for the other initial members|registered before: waiting for the other initial members"},
			{"two have one name", "3", []string{ra, "a=" + b.url, rus}, down, exitRetry, exitRetry, "", "the token cannot be used: two initial members have the name a"},
			{"the token is full without it", "2", []string{ra, rb, rus}, func() { a.list(na, nb); b.list(na, nb) }, exitRetry, exitRetry, "", "do not list this member|the token is full and this member is not among its first 2"},
			{"the token is full without it, nobody answers", "2", []string{ra, rb}, down, exitRetry, exitRetry, "", "cannot be asked"},
			{"registered, never run, and the others have formed it", "3", []string{ra, rus, rb}, func() { a.list(ea, eb, nus); b.list(ea, eb, nus) }, 0, 0, formed, "added to the cluster: starting"},
			{"registered, never run, and another is forming it", "3", []string{ra, rus, rb}, func() { a.list(na, nb, nus); b.answer(503, "") }, 0, 0, "START", "starting with the initial members of the token"},
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
						stdout, reason = "", "" // etcd itself uses the discovery cluster
					}
					r.want(t, code, stdout, reason)
				})
			}
			t.Run(protocol+" a peer waits for the registry itself", func(t *testing.T) {
				g.size, g.members = "3", []string{ra}
				down()
				r := ask(t, sh, true, nil, append(env, "ETCD_JOIN_PEERS="+a.url, "ETCD_DATA_DIR="+t.TempDir())...)
				if protocol == "v2" {
					r.want(t, 0, "", "")
				} else {
					r.want(t, exitRetry, "", "registered: waiting for the other initial members")
				}
			})
			t.Run(protocol+" the registry is away", func(t *testing.T) {
				away := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + dead}
				if protocol == "v2" {
					away = []string{"ETCD_DISCOVERY=" + dead + "/T"}
				}
				ask(t, sh, true, nil, away...).want(t, exitRetry, "", "the discovery cluster does not answer: "+dead)
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
			const waiting = "registered: waiting for the other initial members"
			ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot`, `ETCD_DISCOVERY_PASSWORD=p'a\ss":word`)...).want(t, exitRetry, "", waiting)
			g.members = nil
			ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot:p'a\ss":word`)...).want(t, exitRetry, "", waiting)
			r := ask(t, sh, true, nil, append(env, `ETCD_DISCOVERY_USER=ro"ot`, "ETCD_DISCOVERY_PASSWORD=wrong-secret")...)
			r.want(t, exitRetry, "", "the discovery cluster does not answer: ")
			if strings.Contains(r.stderr, "wrong-secret") {
				t.Error("standard error shows the password")
			}
		})
	}, "discovery")
}

// Test that a new member of a cluster that is being formed reads the initial
// members from the discovery cluster and never registers there.
func TestJoinerWithARegistry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
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
				{"not all founders are there", []string{ra}, func() { a.list(ea, us) }, env, exitRetry, "", "not all initial members have registered yet"},
				{"all are, and none answers", []string{ra, rb}, func() { a.answer(503, ""); b.answer(503, "") }, env, exitRetry, "", "a peer is there but cannot be asked"},
				{"announced", []string{ra, rb}, func() { a.list(ea, eb, us); b.list(ea, eb, us) }, env, 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "added to the cluster: starting"},
				{"announced, and a peer is known otherwise", []string{"$(id)"}, nil, append(env, "ETCD_JOIN_PEERS="+b.url), 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "added to the cluster: starting"},
				{"the registry is away", nil, nil, away, exitRetry, "", "the discovery cluster does not answer: " + dead},
				{"the registry is away, and a peer is known otherwise", nil, func() { a.list(ea, eb, us); b.list(ea, eb, us) }, append(away, "ETCD_JOIN_PEERS="+a.url), 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "added to the cluster: starting"},
				{"it is the only one that registered", []string{"us=" + own, "x=" + own}, nil, env, exitRetry, "", "the token names no other initial member"},
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
	}, "discovery")
}
