// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// counts counts the requests to addresses.
func (w *world) counts() map[string]int {
	out, before := map[string]int{}, w.network.Before
	w.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		out[c.Address]++
		return err
	}
	return out
}

// advertises lets a member publish another client URL too, at which it answers.
func (w *world) advertises(name string, urls ...string) {
	p := w.members[name]
	for _, u := range urls {
		w.network.Answer(u, p)
	}
	p.Publish(name, urls...)
}

// A member advertises its own host without TLS and another host with TLS. A plan sends the
// password only to the endpoint, and one warning has the line that would allow the other
// URL. A host that is named is used with TLS, but never without.
func TestNoSecretElsewhere(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a", func(w *world) {
		const endpoint, plain, other = "https://a.example:2379", "http://a.example:4001", "https://other.example:2379"
		w.network.Answer(endpoint, w.members["a"])
		w.advertises("a", plain, other)
		w.secure()
		sent := w.counts()
		provider := driver.Values{"endpoints": []any{endpoint}, "username": "root", "password": "root-pw"}
		v, r := w.read(provider, "etcd_cluster", nil)
		w.ok(r)
		w.expect("what is seen", driver.Attribute(v, "healthy"), `tftypes.Bool<"true">`)
		said := fmt.Sprint(r.Diagnostics)
		for _, words := range []string{"Some addresses of members are not asked", fmt.Sprintf("  endpoints = [..., %q]", other), plain} {
			if len(r.Diagnostics) != 1 || !strings.Contains(said, words) {
				t.Errorf("got %s, want one warning with %q", said, words)
			}
		}
		w.expect("requests elsewhere", sent[plain]+sent[other], 0)
		provider["endpoints"] = []any{endpoint, other}
		_, r = w.read(provider, "etcd_cluster", nil)
		w.ok(r)
		if said := fmt.Sprint(r.Diagnostics); strings.Contains(said, "endpoints =") || sent[other] == 0 || sent[plain] > 0 {
			t.Errorf("%d requests to the named host, %d in the clear: %s", sent[other], sent[plain], said)
		}
	})
}

// One of three members advertises another URL, with a server that lies about where the
// members are, and about their names. While no argument names its URL, it is not asked. If
// its URL is trusted, it is outvoted. As the only endpoint it is refused, in characters
// that can be printed.
func TestHostileEndpoint(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		const liar, moved, hostile = "http://liar.example:2379", "http://moved.example:2380", "\x1b[2J\nbootcmd: [reboot]\u2028"
		w.advertises("c", liar)
		w.secure()
		asked := w.counts()
		lie := func(members []*pb.Member) []*pb.Member {
			for _, m := range members {
				if m.Name == "a" {
					m.PeerURLs = []string{moved}
				}
			}
			return members
		}
		w.network.After = func(_ context.Context, c etcdsim.Call, answer proto.Message, err error) error {
			if list, ok := answer.(*pb.MemberListResponse); ok && c.Address == liar {
				list.Members = lie(list.Members)
			}
			return err
		}
		provider := w.as("a b", "root")
		for _, trusted := range []bool{false, true} {
			if trusted {
				provider["address_map"] = map[string]any{liar: liar}
			}
			v, r := w.read(provider, "etcd_cluster", nil)
			w.ok(r)
			if seen := v.String(); strings.Contains(seen, moved) || !strings.Contains(seen, etcdsim.PeerURL("a")) {
				t.Errorf("its URL is trusted: %v, and the data source has %s", trusted, seen)
			}
			w.expect("its URL is trusted, and it was asked", asked[liar] > 0, trusted)
		}
		for what, m := range map[string]*pb.Member{
			"name":     {ID: 0xbad, Name: hostile, PeerURLs: []string{moved}},
			"peer URL": {ID: 0xbad, Name: "x", PeerURLs: []string{moved + hostile}},
		} {
			lie = func(members []*pb.Member) []*pb.Member { return append(slices.Clone(members), m) }
			ws := driver.New(w, driver.Values{"endpoints": []any{liar}, "username": "root", "password": "root-pw"}, member("d"))
			_, r := ws.Up(w.Context(), w.start("add"))
			said := fmt.Sprint(r.Err())
			if strings.ContainsAny(said, "\x1b\u2028") || strings.Contains(said, "\nbootcmd") || !strings.Contains(said, "it lists member bad") {
				t.Errorf("of the %s is said: %q", what, said)
			}
		}
	})
}

// A name with which a machine could not start is refused at plan. A member that has such
// a name can be imported, shown and removed.
func TestOddName(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b", func(w *world) {
		const odd = "node(1)"
		cluster := clusterOf("a", "one")[:1]
		cluster[0].Values["members"] = map[string]any{"${IFS}": driver.Values{"peer_urls": []any{etcdsim.PeerURL("x")}}}
		learner := member("../x")
		learner.Type, learner.Name = "etcd_learner", "x"
		added := member("new(2)")
		added.Name = "x"
		added.Values["peer_urls"], learner.Values["peer_urls"] = []any{etcdsim.PeerURL("x")}, []any{etcdsim.PeerURL("x")}
		for _, r := range []driver.Resource{added, learner, cluster[0]} {
			_, refused := driver.New(w, w.provider("a"), r).Plan(w.Context(), w.start("plan"))
			w.fails(r.Type, refused, "Invalid member name")
		}
		w.members["b"].Publish(odd)
		w.rest(time.Minute)
		named := driver.Resource{Type: "etcd_member", Name: "x", Values: driver.Values{"name": odd, "peer_urls": []any{etcdsim.PeerURL("b")}}}
		ws := driver.New(w, w.provider("a b"), named)
		w.ok(ws.Import(w.Context(), w.start("import"), "etcd_member.x", odd))
		_, r := ws.Up(w.Context(), w.start("import"))
		w.ok(r)
		v := ws.State("etcd_member.x").Value
		w.expect("imported", driver.Attribute(v, "name")+" "+driver.Attribute(v, "role"), odd+" voter")
		plan, r := ws.Plan(w.Context(), w.start("plan"))
		w.ok(r)
		w.expect("plan", plan.Actions(), "[]")
		seen, r := w.read(w.provider("a b"), "etcd_cluster", nil)
		w.ok(r)
		if !strings.Contains(seen.String(), odd) {
			t.Errorf("the data source has %s", seen)
		}
		_, r = ws.Up(w.Context(), w.start("destroy"), driver.Destroy)
		w.ok(r)
		w.expect("members", w.list(), "a")
	})
}
