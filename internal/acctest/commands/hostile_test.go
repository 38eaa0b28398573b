// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A name with which a machine could not start is refused at plan. An existing
// member with such a name can be imported, shown and removed.
func TestAccOddName(t *testing.T) {
	t.Parallel()
	const odd = "node(1)"
	c := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{odd}})
	there := acctest.Access{Endpoints: c.Endpoints()}
	url := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	for _, resource := range []string{
		member("etcd_member", "new(2)", url), member("etcd_learner", "../x", url),
		fmt.Sprintf("resource \"etcd_cluster\" \"x\" {\n  members = { \"$${IFS}\" = { peer_urls = [%q] } }\n}\n", url),
	} {
		configuration(t, there, resource).Run("plan", "-json", "-input=false").MustSay("Invalid member name")
	}

	m := c.Member(odd)
	w := configuration(t, there, fmt.Sprintf("import {\n  to = etcd_member.x\n  id = %q\n}\nresource \"etcd_member\" \"x\" {\n  name = %q\n  peer_urls = [%q]\n}\n"+
		"data \"etcd_cluster\" \"this\" {}\n", odd, odd, m.PeerURL()))
	w.Apply().MustSucceed()
	if got := w.State("etcd_member.x"); got["name"] != odd || got["role"] != "voter" {
		t.Errorf("imported: %v", got)
	}
	if plan := w.Plan(); plan.ExitCode != 0 {
		t.Errorf("the plan is not empty:\n%s", plan)
	}
	w.Destroy().MustSucceed()
}

const hostilePassword = "Tr0ub4dor"

// One of three members advertises an additional URL with a server that lies about where
// the members are, and about their names. While the configuration does not name its URL,
// it gets no connections. If its URL is trusted, it is outvoted. As the only endpoint it
// is refused, in printable characters.
func TestAccHostileEndpoint(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}, Password: hostilePassword})
	liar := etcdtest.NewLiar(t, "127.0.0.10", etcdtest.Lies{})
	b.Advertise(t, b.Member("c"), liar.URL)
	truth := etcdtest.Truth(t, b.Member("c"))
	tell := func(members []*pb.Member) {
		lies := truth
		lies.Members = &pb.MemberListResponse{Header: truth.Members.Header, Members: members}
		liar.Tell(lies)
	}
	var moved []*pb.Member
	for _, m := range truth.Members.Members {
		elsewhere := &pb.Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs}
		if m.Name == "a" {
			elsewhere.PeerURLs = []string{"http://127.0.0.66:2380"}
		}
		moved = append(moved, elsewhere)
	}
	tell(moved)

	const resources = "data \"etcd_cluster\" \"this\" {}\n"
	access := acctest.Access{Endpoints: b.Endpoints()[:2], Username: "root", Password: hostilePassword}
	for _, trusted := range []bool{false, true} {
		if trusted {
			access.Extra = fmt.Sprintf("address_map = { %q = %q }", liar.URL, liar.URL)
		}
		w := configuration(t, access, resources)
		record := w.Record()
		w.Apply().MustSucceed()
		if !trusted {
			w.Write("comment.tf", "# "+strings.Join(b.Endpoints(), " ")+"\n")
			acctest.CheckSent(t, record(), w.Trusted, false, "password")
		}
		if seen := fmt.Sprint(w.State("data.etcd_cluster.this")); strings.Contains(seen, "127.0.0.66") || !strings.Contains(seen, b.Member("a").PeerURL()) {
			t.Errorf("its URL is trusted: %v, and the state has %s", trusted, seen)
		}
		if asked := liar.Accepted() > 0; asked != trusted {
			t.Errorf("its URL is trusted: %v, and it was asked: %v", trusted, asked)
		}
	}

	const hostile = "\x1b[2J\nbootcmd: [reboot]\u2028"
	for what, m := range map[string]*pb.Member{
		"name":     {ID: 0xbad, Name: hostile, PeerURLs: []string{"http://127.0.0.66:2380"}},
		"peer URL": {ID: 0xbad, Name: "x", PeerURLs: []string{"http://127.0.0.66:2380" + hostile}},
	} {
		tell(append(slices.Clone(truth.Members.Members), m))
		w := configuration(t, acctest.Access{Endpoints: []string{liar.URL}}, resources+member("etcd_learner", "d", "http://127.0.0.9:2380")) // it gets no credentials
		out := w.Run("apply", "-no-color", "-input=false", "-auto-approve").MustFail()
		said := string(out.Stdout) + string(out.Stderr)
		if strings.ContainsAny(said, "\x1b\u2028") || strings.Contains(said, "\nbootcmd") || !strings.Contains(said, "it lists member bad") {
			t.Errorf("of the %s is said: %q", what, said)
		}
	}
}
