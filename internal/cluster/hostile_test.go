// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// theirs and theirLeader are IDs of a cluster that an [etcdtest.Liar] invents.
const theirs, theirLeader = 0xc1, 0xa1

// lying returns the answers of a liar with that member ID and member list.
func lying(id uint64, members ...*pb.Member) etcdtest.Lies {
	header := &pb.ResponseHeader{ClusterId: theirs, MemberId: id, RaftTerm: 2}
	return etcdtest.Lies{
		Status:  &pb.StatusResponse{Header: header, Version: "3.6.0", Leader: theirLeader, RaftTerm: 2, RaftIndex: 9, RaftAppliedIndex: 9, DbSize: 1},
		Members: &pb.MemberListResponse{Header: header, Members: members},
		Range:   &pb.RangeResponse{Header: header},
		Txn:     &pb.TxnResponse{Header: header},
	}
}

func listed(id uint64, name string, clientURLs ...string) *pb.Member {
	return &pb.Member{ID: id, Name: name, PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: clientURLs}
}

// both calls Observe and Members, and returns the errors.
func both(t *testing.T, c *Client) []error {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	_, observed := c.Observe(ctx, 0)
	_, _, members := c.Members(ctx)
	return []error{observed, members}
}

// A list that no member gives is refused. The text names the endpoint and the
// member, and can be printed.
func TestListsThatNobodyGives(t *testing.T) {
	t.Parallel()
	many := make([]*pb.Member, 100)
	for i := range many {
		many[i] = listed(uint64(i+1), fmt.Sprint("m", i))
	}
	peer := func(url string) *pb.Member { return &pb.Member{ID: 0xa1, Name: "a", PeerURLs: []string{url}} }
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
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			liar := etcdtest.NewLiar(t, "127.0.0.1", lying(0xa1, members...))
			for _, err := range both(t, clientFor(t, settings(liar.URL))) {
				var gone *connection.Unreachable
				if !errors.As(err, &gone) || len(gone.Answers) != 1 || gone.Answers[0].Endpoint != liar.URL {
					t.Fatalf("got %v, want the answer of %s", err, liar.URL)
				}
				text := gone.Answers[0].Err.Error()
				if strings.ContainsFunc(text, func(r rune) bool { return (r < ' ' || r > '~') && r != '…' }) || len(text) > 400 {
					t.Errorf("the error is %q", text)
				}
				if len(members) < 100 && members[0].ID != 0 && !strings.Contains(text, "a1") {
					t.Errorf("the error %q does not name member a1", text)
				}
			}
		})
	}
}

// Every spelling of a list that etcd accepts is accepted.
func TestListsThatMembersGive(t *testing.T) {
	t.Parallel()
	a := listed(0xa1, "a b=ü", "http://0.0.0.0:2379", "https://[FD00::1]:2379", "http://Host_A.example.:2379/")
	a.PeerURLs = []string{"http://0.0.0.0:2380", "https://Host-a.example:2380/"}
	liar := etcdtest.NewLiar(t, "127.0.0.1", lying(0xa1, a, &pb.Member{ID: 2, PeerURLs: []string{"http://[::1]:2380"}, IsLearner: true}))
	members, id, err := clientFor(t, settings(liar.URL)).Members(t.Context())
	if err != nil || id != theirs || len(members) != 2 {
		t.Fatalf("got %v, %s, %v", members, id, err)
	}
	if got := members[1]; !slices.Equal(got.PeerURLs, []string{"http://0.0.0.0:2380", "https://host-a.example:2380"}) ||
		!slices.Equal(got.ClientURLs, []string{"http://0.0.0.0:2379", "https://[fd00::1]:2379", "http://host_a.example.:2379"}) {
		t.Errorf("got %+v", got)
	}
}

// thousands returns 2,000 members, each at its own address.
func thousands() []*pb.Member {
	out := make([]*pb.Member, 2000)
	for i := range out {
		out[i] = listed(uint64(i+1), fmt.Sprint("m", i), fmt.Sprintf("http://127.66.%d.%d:2379", i/250, i%250+1))
	}
	return out
}

// An endpoint that lists thousands of members, or sends messages of any size,
// causes an error, but uses neither memory nor connections.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from /proc")
	}
	size := 40 << 20
	if os.Getenv("ETCD_TEST_FULL") != "" {
		size = 600 << 20
	}
	empty := make([]*pb.Member, 2<<20)
	for i := range empty {
		empty[i] = &pb.Member{}
	}
	usual := []*pb.Member{listed(1, "a"), listed(2, "b"), listed(3, "c")}
	base, _ := peakOf(t, lying(1, usual...))
	for what, members := range map[string][]*pb.Member{
		"2000 members":             thousands(),
		"a name without an end":    {listed(0xa1, strings.Repeat("a", size))},
		"millions of empty ones":   empty,
		"99 members and a surplus": slices.Concat(thousands()[:99], empty[:60_000]),
	} {
		peak, dials := peakOf(t, lying(0xa1, members...))
		t.Logf("%s: %d MB above three members, %d connections", what, (peak-base)>>20, dials)
		if peak-base > 64<<20 || dials > 4 {
			t.Errorf("%s: %d MB above three members, %d connections", what, (peak-base)>>20, dials)
		}
	}
}

// childOf is the variable with the URL of the liar that [peak] asks.
const childOf = "ETCD_TEST_LIAR"

// peakOf returns the peak memory in bytes of a process that observes a liar,
// and the number of its connections.
func peakOf(t *testing.T, lies etcdtest.Lies) (bytes int64, dials int) {
	t.Helper()
	liar := etcdtest.NewLiar(t, "127.0.0.1", lies)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childOf+"="+liar.URL, "GOGC=100") // as users run it
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := regexp.MustCompile(`peak (\d+) kB`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("no figure in %s", out)
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10, liar.Accepted()
}

// peak is the process that [peakOf] measures.
func peak(url string) {
	s := settings(url)
	s.AddressMap = map[string]string{} // so that the liar counts every dial
	for _, m := range thousands() {
		s.AddressMap[m.ClientURLs[0]] = url
	}
	pool := &connection.Pool{}
	defer func() { _ = pool.Close() }()
	c := New(s, pool)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, observed := c.Observe(ctx, 0)
	status, err := os.ReadFile("/proc/self/status")
	fmt.Println(observed, err)
	fmt.Printf("peak %s\n", regexp.MustCompile(`VmHWM:\s+(\d+ kB)`).FindSubmatch(status)[1])
}

// tricked returns a cluster of three. Its third member, c, also advertises a
// client URL of a liar, which comes first in the order of endpoints.
func tricked(t *testing.T) (*etcdtest.Cluster, *etcdtest.Liar) {
	t.Helper()
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	liar := etcdtest.NewLiar(t, "127.0.0.10", etcdtest.Lies{})
	b.Advertise(t, b.Member("c"), liar.URL)
	return b, liar
}

// One lying member of three does not determine the membership, whichever
// endpoints are configured.
func TestALyingMemberIsOutvoted(t *testing.T) {
	t.Parallel()
	b, liar := tricked(t)
	lies := etcdtest.Truth(t, b.Member("c"))
	for _, m := range lies.Members.Members {
		if m.Name == "c" {
			m.PeerURLs = []string{"http://127.0.0.66:2380"}
		}
	}
	liar.Tell(lies)
	for _, endpoints := range [][]string{b.Endpoints()[:2], b.Endpoints(), {b.Endpoints()[0]}} {
		snap := observe(t, clientFor(t, settings(endpoints...)))
		i := slices.IndexFunc(snap.Members, func(m membership.Member) bool { return m.Name == "c" })
		if i < 0 || !slices.Equal(snap.Members[i].PeerURLs, []string{b.Member("c").PeerURL()}) || !snap.Linearizable {
			t.Errorf("through %v: c is %+v, confirmed %v", endpoints, snap.Members, snap.Linearizable)
		}
	}
	// A client that only asks the liar sees its list, but the list is not confirmed.
	if snap := observe(t, clientFor(t, settings(liar.URL))); snap.Linearizable && snap.Members[2].PeerURLs[0] == "http://127.0.0.66:2380" {
		t.Errorf("its word alone: %+v", snap)
	}
}

// A whole cluster that the liar invents, with its own endpoints under the IDs
// of the real members, is not believed while a real member answers.
func TestAMadeUpClusterIsNotConfirmed(t *testing.T) {
	t.Parallel()
	b, liar := tricked(t)
	lies := etcdtest.Truth(t, b.Member("c"))
	var worlds []*etcdtest.Liar
	for _, m := range lies.Members.Members {
		other := etcdtest.NewLiar(t, "127.0.0.10", etcdtest.Lies{})
		worlds = append(worlds, other)
		m.PeerURLs, m.ClientURLs = []string{"http://127.0.0.66:2380"}, []string{other.URL}
		if m.Name == "c" {
			m.ClientURLs = append(m.ClientURLs, liar.URL)
		}
	}
	liar.Tell(lies)
	for i, m := range lies.Members.Members {
		as := func(h *pb.ResponseHeader) *pb.ResponseHeader {
			return &pb.ResponseHeader{ClusterId: h.ClusterId, MemberId: m.ID, RaftTerm: h.RaftTerm, Revision: h.Revision}
		}
		status := &pb.StatusResponse{Header: as(lies.Status.Header), Version: lies.Status.Version, Leader: lies.Status.Leader, RaftTerm: lies.Status.RaftTerm, RaftIndex: lies.Status.RaftIndex, RaftAppliedIndex: lies.Status.RaftAppliedIndex}
		worlds[i].Tell(etcdtest.Lies{Status: status, Members: &pb.MemberListResponse{Header: as(lies.Members.Header), Members: lies.Members.Members}, Range: lies.Range})
	}
	for _, endpoints := range [][]string{b.Endpoints()[:1], b.Endpoints()[:2], b.Endpoints()} {
		snap := observe(t, clientFor(t, settings(endpoints...)))
		if snap.Linearizable && snap.Members[0].PeerURLs[0] == "http://127.0.0.66:2380" {
			t.Errorf("through %v: %+v", endpoints, snap)
		}
		if len(endpoints) > 1 && !snap.Linearizable {
			t.Errorf("through %v: the real list is not confirmed", endpoints)
		}
	}
}

// An answer with b's ID from a URL of c counts for no member: b, which has
// failed, is not alive, and no request is sent there because of it.
func TestAnAnswerFromAnothersURL(t *testing.T) {
	t.Parallel()
	b, liar := tricked(t)
	lies := etcdtest.Truth(t, b.Member("b"))
	liar.Tell(lies)
	dead := membership.MemberID(lies.Status.Header.MemberId)
	c := clientFor(t, settings(b.Endpoints()...))
	if snap := observe(t, c); !snap.Alive(dead) || snap.Answer(dead).Endpoint != b.Member("b").ClientURL() {
		t.Errorf("b answers itself, and is %+v", snap.Answer(dead))
	}
	b.Member("b").PowerOff()
	snap := observe(t, c)
	a := snap.Answer(dead)
	if snap.Alive(dead) || a.State != membership.Unprobed || a.Endpoint != liar.URL || snap.Healthy() {
		t.Errorf("b is %+v, healthy %v", a, snap.Healthy())
	}
	if at := c.route(dead); slices.Contains(at, liar.URL) {
		t.Errorf("b is at %v", at)
	}
	if a := c.Ask(t.Context(), membership.Member{ID: dead, ClientURLs: []string{b.Member("b").ClientURL()}}, membership.ClusterID(lies.Status.Header.ClusterId)); a.State != membership.Silent {
		t.Errorf("asked: %+v", a)
	}
}

// A message without a header is an error, not a crash.
func TestAnswersWithoutAHeader(t *testing.T) {
	t.Parallel()
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	c := clientFor(t, settings(liar.URL))
	for _, err := range both(t, c) {
		if err == nil {
			t.Error("no error")
		}
	}
	header := &pb.ResponseHeader{ClusterId: theirs, MemberId: 0xa1}
	liar.Tell(etcdtest.Lies{Txn: &pb.TxnResponse{Header: header}, Range: &pb.RangeResponse{Header: header}})
	if _, err := c.Records(theirs).Put(t.Context(), Record{Owner: "a", Name: "a", State: Intended}); err == nil {
		t.Error("a transaction that answered nothing was called written")
	}
}

// Versions in a status are printed, so a version that cannot be printed is refused.
func TestVersionsThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.6.0\n::error::", "\x1b[2J", strings.Repeat("3", 300)} {
		lies := lying(theirLeader, listed(theirLeader, "a"))
		lies.Status.Version = version
		liar := etcdtest.NewLiar(t, "127.0.0.1", lies)
		snap := observe(t, clientFor(t, settings(liar.URL)))
		if a := snap.Answer(theirLeader); a.Version != "" || a.State == membership.Answered {
			t.Errorf("%q: %+v", version, a)
		}
	}
}
