// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// entry is one member as a peer port lists it. The tests with etcd get real
// answers.
type entry struct {
	ID         uint64   `json:"id"`
	PeerURLs   []string `json:"peerURLs"`
	Name       string   `json:"name,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

// ran returns a member that has run: it has a name and a client URL.
func ran(id uint64, name string, urls ...string) entry {
	return entry{ID: id, Name: name, PeerURLs: urls, ClientURLs: []string{"http://client"}}
}

// peer simulates a member's peer port, for states that are hard to create with
// a real etcd.
type peer struct {
	url   string
	asked atomic.Int32
	serve atomic.Pointer[http.HandlerFunc]
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if h := p.serve.Load(); h != nil {
			(*h)(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *peer) handle(h http.HandlerFunc) { p.serve.Store(&h) }

func (p *peer) list(members ...entry) { p.listIn("cdf818194e3a8c32", members...) }

func (p *peer) listIn(cluster string, members ...entry) {
	p.handle(func(w http.ResponseWriter, _ *http.Request) { reply(w, cluster, members...) })
}

func reply(w http.ResponseWriter, cluster string, members ...entry) {
	w.Header().Set("X-Etcd-Cluster-ID", cluster)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(members)
}

func (p *peer) answer(code int, body string) {
	p.handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Etcd-Cluster-ID", "cdf818194e3a8c32")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

// hang accepts a request and does not answer.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// own is the peer URL of the member for which the script runs. Nothing listens
// there or at dead.
const (
	own  = "http://127.0.0.1:1"
	dead = "http://127.0.0.1:2"
)

// ask runs the script for the member "us" with peer URL own, for the minimum of
// two rounds. peers are in ETCD_JOIN_PEERS.
func ask(t *testing.T, sh shell, founder bool, peers []string, env ...string) result {
	t.Helper()
	state := "existing"
	if founder {
		state = "new"
	}
	// The last variable of a name takes precedence.
	all := append([]string{patience, "ETCD_DATA_DIR=" + filepath.Join(t.TempDir(), "data"), "ETCD_NAME=us", "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + own, "ETCD_INITIAL_CLUSTER_STATE=" + state, "ETCD_JOIN_PEERS=" + strings.Join(peers, ",")}, env...)
	return sh.run(t, all...)
}

// Test what the script prints and says. What it decides is in [TestStarts].
func TestJoiner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a, b, c := newPeer(t), newPeer(t), newPeer(t)
		all := []string{a.url, b.url, c.url}
		ea, eb, ec := ran(11, "a", a.url), ran(12, "b", b.url), ran(13, "c", c.url)
		us := entry{ID: 20, PeerURLs: []string{own}, IsLearner: true}
		cluster := func(urls ...string) string { return strings.Join(urls, ",") }
		abc := cluster("member-11="+a.url, "member-12="+b.url, "member-13="+c.url)
		cases := []struct {
			name   string
			set    func()
			peers  []string
			code   int
			stdout string
			reason string
		}{
			{"added as a learner", func() {
				for _, p := range []*peer{a, b, c} {
					p.list(ea, eb, ec, us)
				}
			}, all, 0, joined("us", own, abc+",us="+own), "added to the cluster: starting"},
			{"names that cannot be used", func() {
				odd := []string{"$(id)", "x=y,z", "us", "two words", "same", "same", "quote\"s\\", "\nETCD_FORCE_NEW_CLUSTER=true", ""}
				list := []entry{ea, us}
				for i, name := range odd {
					e := ran(uint64(100+i), name, fmt.Sprintf("http://10.0.0.%d:2380", i))
					e.IsLearner = true
					list = append(list, e)
				}
				a.list(list...)
			}, []string{a.url}, 0, joined("us", own, cluster(
				"member-100=http://10.0.0.0:2380", "member-101=http://10.0.0.1:2380", "member-102=http://10.0.0.2:2380",
				"member-103=http://10.0.0.3:2380", "member-104=http://10.0.0.4:2380", "member-105=http://10.0.0.5:2380",
				"member-106=http://10.0.0.6:2380", "member-107=http://10.0.0.7:2380", "member-108=http://10.0.0.8:2380",
				"member-11="+a.url, "us="+own)), "added to the cluster: starting"},
			{"IPv6, host names, several URLs, big IDs", func() {
				a.list(ran(18446744073709551615, "a", a.url, "https://[fd00::1]:2380"), ran(9, "b", "https://Node-b.Example.com:2380", b.url), us)
				b.list(ran(18446744073709551615, "a", a.url, "https://[fd00::1]:2380"), ran(9, "b", "https://Node-b.Example.com:2380", b.url), us)
			}, []string{a.url}, 0, joined("us", own, cluster(
				"member-18446744073709551615="+a.url, "member-18446744073709551615=https://[fd00::1]:2380", "us="+own, "member-9=https://Node-b.Example.com:2380", "member-9="+b.url)), "added to the cluster: starting"},
			{"nobody answers", func() {}, []string{dead}, exitRetry, "", "no peer answers: " + dead + ": "},
			{"nobody is known", func() {}, nil, exitRetry, "", "ETCD_JOIN_PEERS is not set"},
			{"only itself is known", func() {}, []string{own}, exitRetry, "", "ETCD_JOIN_PEERS is not set"},
		}
		for i, test := range cases {
			if test.set != nil {
				test.set()
			}
			if !sh.due(i) {
				continue
			}
			t.Run(test.name, func(t *testing.T) {
				ask(t, sh, false, test.peers).want(t, test.code, test.stdout, test.reason)
			})
		}
		for _, p := range []*peer{a, b} {
			p.list(ea, eb, ec, us)
		}
		c.handle(hang)
		ask(t, sh, false, all, hurry).want(t, 0, joined("us", own, abc+",us="+own), "added to the cluster: starting")
	}, "static", "discovery")
}

// Test that answers of peers are validated and never printed.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		good := fmt.Sprintf(`{"id":1,"name":"a","peerURLs":[%q],"clientURLs":["http://c"]},{"id":2,"peerURLs":[%q],"isLearner":true}`, a.url, own)
		cases := map[string]http.HandlerFunc{}
		for name, body := range map[string]string{
			"empty":               ``,
			"null":                `null`,
			"no members":          `[]`,
			"HTML":                `<html><body>It works!</body></html>`,
			"cut short":           `[` + good,
			"text behind":         `[` + good + `] x`,
			"deep":                strings.Repeat("[", 5000),
			"an object":           `{"members":[` + good + `]}`,
			"no peer URLs":        `[{"id":1,"name":"a","clientURLs":["http://c"]}]`,
			"ID is no number":     `[{"id":"$(id)","peerURLs":["http://x:1"]}]`,
			"URL with a command":  `[` + good + `,{"id":3,"peerURLs":["http://x:1/$(touch${IFS}PWNED)"]}]`,
			"URL with a line":     `[` + good + `,{"id":3,"peerURLs":["http://x:1\nETCD_FORCE_NEW_CLUSTER=true"]}]`,
			"URL with a quote":    `[` + good + `,{"id":3,"peerURLs":["http://x:1\""]}]`,
			"URL with an entry":   `[` + good + `,{"id":3,"peerURLs":["http://x:1,b=http://y:2"]}]`,
			"URL of another kind": `[` + good + `,{"id":3,"peerURLs":["file:///etc/passwd"]}]`,
			"a string not closed": `[{"id":1,"name":"a`,
			"escape at the end":   `[{"id":1,"name":"a\`,
			"control characters":  "[{\"id\":1,\"name\":\"a\x01\x1b[31m\",\"peerURLs\":[]}]",
		} {
			cases[name] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Etcd-Cluster-ID", "cdf8")
				_, _ = io.WriteString(w, body)
			}
		}
		cases["too long"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Etcd-Cluster-ID", "cdf8")
			_, _ = io.WriteString(w, "["+strings.Repeat(good+",\n", 50000)+good+"]")
		}
		for _, code := range []int{204, 302, 401, 403, 404, 500, 503} {
			cases[fmt.Sprintf("status %d", code)] = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Etcd-Cluster-ID", "cdf8")
				w.Header().Set("Location", "http://"+r.Host+"/members")
				w.WriteHeader(code)
				_, _ = io.WriteString(w, `[`+good+`]`)
			}
		}
		cases["no cluster ID"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[`+good+`]`) }
		cases["a cluster ID that is none"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Etcd-Cluster-ID", "$(id)")
			_, _ = io.WriteString(w, `[`+good+`]`)
		}
		cases["the connection breaks"] = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		// The same text without an error is a valid answer.
		a.answer(200, `[`+good+`]`)
		ask(t, sh, false, []string{a.url}).want(t, 0, joined("us", own, "member-1="+a.url+",us="+own), "added to the cluster: starting")
		for i, name := range slices.Sorted(maps.Keys(cases)) {
			if !sh.due(i) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				a.handle(cases[name])
				r := ask(t, sh, false, []string{a.url})
				r.want(t, exitRetry, "", a.url+": ")
				if strings.ContainsAny(r.stderr, "\x01\x1b") {
					t.Errorf("standard error passes control characters on: %q", r.stderr)
				}
			})
		}
	}, "static", "discovery")
}
