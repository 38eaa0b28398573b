// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// registry is a discovery cluster that serves both protocols, with one token T.
type registry struct {
	*realRegistry
	url    string
	client *clientv3.Client
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	g := newRealRegistry(t, "v2", etcdtest.V35)
	return &registry{g, g.process.ClientURL(), g.process.Client(t)}
}

// prefix is where v3 has the token.
const prefix = "/_etcd/registry/T/"

// set makes the token anew, without a size if that is empty. The order of the
// registrations is not that of their keys.
func (g *registry) set(t *testing.T, size string, members ...string) {
	t.Helper()
	put := func(key, value string) {
		if _, err := g.client.Put(t.Context(), prefix+key, value); err != nil {
			t.Fatal(err)
		}
		g.v2(t, http.MethodPut, "/T/"+strings.TrimPrefix(key, "members/"), value)
	}
	if _, err := g.client.Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	g.v2(t, http.MethodDelete, "/T?recursive=true", "")
	if size != "" {
		put("_config/size", size)
	}
	for i, member := range members {
		put(fmt.Sprintf("members/%x", 99-i), member)
	}
}

// members are the registrations of v3, as KEY VALUE.
func (g *registry) members(t *testing.T) (out []string) {
	t.Helper()
	got, err := g.client.Get(t.Context(), prefix+"members/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range got.Kvs {
		out = append(out, string(kv.Key)+" "+string(kv.Value))
	}
	return out
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
				token = g.url + "/v2/keys/T"
				env = []string{"ETCD_DISCOVERY=" + token}
			}
			for i, test := range cases {
				if !sh.due(i + k) {
					continue
				}
				t.Run(protocol+" "+test.name, func(t *testing.T) {
					g.set(t, test.size, test.members...)
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
						all := test.members
						if !slices.Contains(all, rus) {
							all = append(slices.Clone(all), rus)
						}
						stdout = started(token, all...)
					}
					if protocol == "v2" && code == 0 && !slices.Contains(test.members, rus) {
						stdout, reason = "", "" // etcd itself uses the discovery cluster
					}
					r.want(t, code, stdout, reason)
				})
			}
			t.Run(protocol+" a peer waits for the registry itself", func(t *testing.T) {
				g.set(t, "3", ra)
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
					p := newPeer(t)
					p.answer(code, "<html>$(id)</html>")
					env := strings.Split(strings.ReplaceAll(strings.Join(env, "\n"), strings.TrimPrefix(g.url, "http://"), strings.TrimPrefix(p.url, "http://")), "\n")
					ask(t, sh, true, nil, env...).want(t, exitRetry, "", fmt.Sprint("HTTP status ", code))
				})
			}
		}
	}, "discovery")
}

// Test that a new member of a cluster that is being formed reads the initial
// members from the discovery cluster and never registers there.
func TestJoinerWithARegistry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a, b, g := newPeer(t), newPeer(t), newRegistry(t)
		ra, rb := "a="+a.url, "b="+b.url
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		us := entry{ID: 20, PeerURLs: []string{own}, IsLearner: true}
		for protocol, env := range map[string][]string{
			"v3": {"ETCD_JOIN_DISCOVERY_TOKEN=T", "ETCD_JOIN_DISCOVERY_ENDPOINTS=" + dead + "," + g.url},
			"v2": {"ETCD_JOIN_DISCOVERY=" + g.url + "/v2/keys/T"},
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
					g.set(t, "2", c.members...)
					ask(t, sh, true, nil, c.env...).want(t, c.code, c.stdout, c.reason)
				})
			}
			t.Run(protocol+" the registry does not know the token", func(t *testing.T) {
				g.set(t, "")
				ask(t, sh, true, nil, env...).want(t, exitRetry, "", "the token cannot be used: ")
			})
		}
	}, "discovery")
}
