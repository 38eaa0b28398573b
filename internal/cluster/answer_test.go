// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// theirs and theirLeader are IDs of a cluster that an endpoint invents.
const theirs, theirLeader = 0xc1, 0xa1

// lying returns the answers of a liar with that member ID and member list.
func lying(id uint64, members ...*pb.Member) etcdtest.Lies {
	header := &pb.ResponseHeader{ClusterId: theirs, MemberId: id, RaftTerm: 2}
	return etcdtest.Lies{
		Status:  &pb.StatusResponse{Header: header, Version: "3.6.0", Leader: theirLeader, RaftTerm: 2, RaftIndex: 9, RaftAppliedIndex: 9, DbSize: 1},
		Members: &pb.MemberListResponse{Header: header, Members: members},
		Range:   &pb.RangeResponse{Header: header},
	}
}

func listed(id uint64, name string, clientURLs ...string) *pb.Member {
	return &pb.Member{ID: id, Name: name, PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: clientURLs}
}

// lies changes the answers of one member.
func (w *world) lies(name string, change func(answer proto.Message)) {
	w.net.After = func(_ context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		if c.Address == etcdsim.ClientURL(name) && c.Run == "run" && answer != nil {
			change(answer)
		}
		return err
	}
}

// A list that no member gives is refused. The text names the endpoint and the
// member, and can be printed.
func TestListsThatNobodyGives(t *testing.T) {
	many := make([]*pb.Member, 100)
	for i := range many {
		many[i] = listed(uint64(i+1), fmt.Sprint("m", i))
	}
	peer := func(url string) *pb.Member { return &pb.Member{ID: 0xa1, Name: "a", PeerURLs: []string{url}} }
	simulate(t, func(w *world) {
		for what, members := range map[string][]*pb.Member{
			"100 members":                   many,
			"a member twice":                {listed(0xa1, "a"), listed(0xa1, "b")},
			"a member without an ID":        {listed(0, "a")},
			"nine client URLs":              {listed(0xa1, "a", slices.Repeat([]string{"http://10.0.0.1:2379"}, 9)...)},
			"no peer URL":                   {{ID: 0xa1, Name: "a"}},
			"a line break in a peer URL":    {peer("http://10.0.0.1:2380\nbootcmd: [reboot]")},
			"U+0085 in a peer URL":          {peer("http://a\u0085b:2380")},
			"another pair in a peer URL":    {peer("http://10.0.0.1:2380,x=http://10.0.0.2:2380")},
			"a command in a client URL":     {listed(0xa1, "a", "http://$(reboot):2379")},
			"U+2028 in a client URL":        {listed(0xa1, "a", "http://a\u2028b:2379")},
			"a client URL of no scheme":     {listed(0xa1, "a", "10.0.0.1:2379")},
			"an escape sequence in a name":  {listed(0xa1, "a\x1b[2J")},
			"a line break in a name":        {listed(0xa1, "a\nApply complete!")},
			"a name of 254 bytes":           {listed(0xa1, strings.Repeat("a", 254))},
			"a name that no cluster prints": {listed(0xa1, "a\u202eb")},
		} {
			w.lies("a", func(answer proto.Message) {
				if list, ok := answer.(*pb.MemberListResponse); ok {
					list.Members = members
				}
			})
			c := w.client(at("a"))
			_, observed := c.Observe(w.Context(), 0)
			_, _, asked := c.Members(w.Context())
			for _, err := range []error{observed, asked} {
				var gone *connection.Unreachable
				if !errors.As(err, &gone) || len(gone.Answers) != 1 || gone.Answers[0].Endpoint != etcdsim.ClientURL("a") {
					w.Fatalf("%s: got %v, want the answer of a", what, err)
				}
				text := gone.Answers[0].Err.Error()
				if strings.ContainsFunc(text, func(r rune) bool { return (r < ' ' || r > '~') && r != '…' }) || len(text) > 400 {
					w.Errorf("%s: the error is %q", what, text)
				}
				if len(members) < 100 && members[0].ID != 0 && !strings.Contains(text, "a1") {
					w.Errorf("%s: the error %q does not name member a1", what, text)
				}
			}
		}
	})
}

// Every spelling of a list that etcd accepts is accepted. Versions in a status are printed,
// so a version that cannot be printed is refused.
func TestAnswersThatMembersGive(t *testing.T) {
	a := listed(0xa1, "a b=ü", "http://0.0.0.0:2379", "https://[FD00::1]:2379", "http://Host_A.example.:2379/")
	a.PeerURLs = []string{"http://0.0.0.0:2380", "https://Host-a.example:2380/"}
	l, err := listFrom(lying(0xa1, a, &pb.Member{ID: 2, PeerURLs: []string{"http://[::1]:2380"}, IsLearner: true}).Members)
	if err != nil || l.cluster != theirs || len(l.members) != 2 {
		t.Fatalf("got %+v, %v", l, err)
	}
	if got := l.members[1]; !slices.Equal(got.PeerURLs, []string{"http://0.0.0.0:2380", "https://host-a.example:2380"}) ||
		!slices.Equal(got.ClientURLs, []string{"http://0.0.0.0:2379", "https://[fd00::1]:2379", "http://host_a.example.:2379"}) {
		t.Errorf("got %+v", got)
	}
	for version, ok := range map[string]bool{"3.7.0-rc.1": true, "3.6.0\n::error::": false, "\x1b[2J": false, strings.Repeat("3", 300): false} {
		if err := checkStatus(&clientv3.StatusResponse{Version: version}); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// One lying member of three does not determine the membership, whichever
// endpoints are configured.
func TestALyingMemberIsOutvoted(t *testing.T) {
	simulate(t, func(w *world) {
		const elsewhere = "http://127.0.0.66:2380"
		w.lies("c", func(answer proto.Message) {
			if list, ok := answer.(*pb.MemberListResponse); ok {
				for _, m := range list.Members {
					if m.Name == "c" {
						m.PeerURLs = []string{elsewhere}
					}
				}
			}
		})
		for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"c", "b", "a"}, {"a"}} {
			snap := observe(w.T, w.client(at(names...)))
			i := slices.IndexFunc(snap.Members, func(m membership.Member) bool { return m.Name == "c" })
			if i < 0 || !slices.Equal(snap.Members[i].PeerURLs, []string{etcdsim.PeerURL("c")}) || !snap.Linearizable || len(snap.Dissent) != 1 {
				w.Errorf("through %v: c is %+v, confirmed %v, against %v", names, snap.Members, snap.Linearizable, snap.Dissent)
			}
		}
		// A client that only asks the liar sees its list, but the list is not confirmed.
		snap := observe(w.T, w.client(at("c")))
		if i := slices.IndexFunc(snap.Members, func(m membership.Member) bool { return m.PeerURLs[0] == elsewhere }); i >= 0 && snap.Linearizable {
			w.Errorf("its word alone: %+v", snap)
		}
	})
}

// An answer with b's ID from a URL of c counts for no member: b, which has
// failed, is not alive, and no request is sent there because of it.
func TestAnAnswerFromAnothersURL(t *testing.T) {
	simulate(t, func(w *world) {
		b := w.Processes()[1]
		w.lies("c", func(answer proto.Message) {
			if a, ok := answer.(interface{ GetHeader() *pb.ResponseHeader }); ok {
				a.GetHeader().MemberId = b.ID()
			}
		})
		c, dead := w.client(at("a", "b")), membership.MemberID(b.ID())
		if snap := observe(w.T, c); !snap.Alive(dead) || snap.Answer(dead).Endpoint != b.ClientURL {
			w.Errorf("b answers itself, and is %+v", snap.Answer(dead))
		}
		b.PowerOff()
		snap := observe(w.T, c)
		a := snap.Answer(dead)
		if snap.Alive(dead) || a.State != membership.Unprobed || a.Endpoint != etcdsim.ClientURL("c") || snap.Healthy() {
			w.Errorf("b is %+v, healthy %v", a, snap.Healthy())
		}
		if route := c.route(dead); slices.Contains(route, etcdsim.ClientURL("c")) {
			w.Errorf("b is at %v", route)
		}
		if a := c.Member(w.Context(), membership.Member{ID: dead, ClientURLs: []string{b.ClientURL}}, snap.ClusterID); a.State != membership.Silent {
			w.Errorf("asked: %+v", a)
		}
	})
}

// A transaction that answered nothing is not called written.
func TestATransactionWithoutAnAnswer(t *testing.T) {
	simulate(t, func(w *world) {
		w.lies("a", func(answer proto.Message) {
			if txn, ok := answer.(*pb.TxnResponse); ok {
				txn.Succeeded, txn.Responses = false, nil
			}
		})
		if _, err := w.client(at("a")).Records(theirs).Put(w.Context(), Record{Owner: "a", Name: "a", State: Intended}); err == nil {
			w.Error("no error")
		}
	})
}
