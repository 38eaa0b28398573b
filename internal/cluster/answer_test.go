// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
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

// The code that etcd uses for errors without a code says nothing about the
// outcome of a change, and is final for every other call. After a broken stream
// the outcome of both is open.
func TestUnsure(t *testing.T) {
	answer := func(c codes.Code, text string) error {
		return &connection.Error{Endpoint: "http://h:1", Kind: connection.Server, Err: status.Error(c, text)}
	}
	for _, tt := range []struct {
		err          error
		change, read bool // whether the outcome is open
	}{
		{answer(codes.Unknown, "membership: something new"), true, false},
		{answer(codes.Internal, "server closed the stream without sending trailers"), true, true},
		{answer(codes.FailedPrecondition, "etcdserver: something new"), false, false},
		{answer(codes.InvalidArgument, "etcdserver: something new"), false, false},
		{answer(codes.Unknown, "etcdserver: not enough started members"), false, false},
	} {
		change, read := errors.Is(unsure(tt.err), ErrAmbiguous), errors.Is(translate(tt.err), ErrAmbiguous)
		if change != tt.change || read != tt.read || !errors.Is(unsure(tt.err), tt.err) {
			t.Errorf("%v: open after a change %v, otherwise %v; want %v and %v", tt.err, change, read, tt.change, tt.read)
		}
		if final(tt.err) == tt.read {
			t.Errorf("%v: final is %v", tt.err, !tt.read)
		}
	}
	if unsure(nil) != nil {
		t.Error("no error is an error")
	}
}

// The answers of servers, as clients receive them, map to these sentinels.
func TestTranslate(t *testing.T) {
	sentinels := []error{
		ErrUnhealthy, errRefused, ErrLearnerSlotTaken, ErrNotFound, ErrBadURL, ErrAlarm, ErrPermission, ErrAmbiguous,
	}
	for _, tt := range []struct{ err, want error }{
		{rpctypes.ErrUnhealthy, ErrUnhealthy},
		{rpctypes.ErrMemberNotEnoughStarted, errRefused},
		{status.Error(codes.Unknown, "etcdserver: re-configuration failed due to not enough started members"), errRefused},
		{rpctypes.ErrTooManyLearners, ErrLearnerSlotTaken},
		{rpctypes.ErrMemberLearnerNotReady, errRefused},
		{rpctypes.ErrMemberNotLearner, errRefused},
		{rpctypes.ErrPeerURLExist, errRefused},
		{rpctypes.ErrMemberExist, errRefused},
		{rpctypes.ErrMemberNotFound, ErrNotFound},
		{rpctypes.ErrMemberBadURLs, ErrBadURL},
		{rpctypes.ErrPermissionDenied, ErrPermission},
		{rpctypes.ErrNoLeader, ErrAmbiguous},
		{rpctypes.ErrLeaderChanged, ErrAmbiguous},
		{rpctypes.ErrStopped, ErrAmbiguous},
		{rpctypes.ErrTimeout, ErrAmbiguous},
		{rpctypes.ErrTooManyRequests, ErrAmbiguous},
		{status.Error(codes.Unknown, "raft proposal dropped"), ErrAmbiguous},
		{context.DeadlineExceeded, ErrAmbiguous},
		{context.Canceled, ErrAmbiguous},
		{io.EOF, ErrAmbiguous},
		{rpctypes.ErrNoSpace, ErrAlarm},
		{rpctypes.ErrCorrupt, ErrAlarm},
		{errors.New("something else"), nil},
	} {
		got := translate(fmt.Errorf("called: %w", tt.err))
		if !errors.Is(got, tt.err) {
			t.Errorf("%v: got %v, without the server's own word", tt.err, got)
		}
		for _, s := range sentinels {
			if is := errors.Is(got, s); is != errors.Is(s, tt.want) {
				t.Errorf("%v: %q is %v, want %v", tt.err, s, is, !is)
			}
		}
	}
}

// One endpoint is treated as many: whatever it answers, the error is of the same
// kind, and the loops that wait for the cluster treat it the same.
func TestOneEndpointIsTreatedAsMany(t *testing.T) {
	t.Parallel()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	ask := func(answer error, endpoints ...string) (gone, open, hopeless bool) {
		c := New(connection.Settings{Endpoints: endpoints}, pool)
		err := c.Anywhere(t.Context(), func(context.Context, *clientv3.Client) error { return answer })
		return errors.As(err, new(*connection.Unreachable)), errors.Is(err, ErrAmbiguous), Hopeless(err)
	}
	refusals := []connection.Kind{connection.NotAsked, connection.UnknownCA, connection.PermissionDenied, connection.WrongPassword}
	answers := []error{errors.New("something else"), &connection.Error{Kind: connection.Server, Err: rpctypes.ErrNoLeader}}
	for _, kind := range []connection.Kind{
		connection.DNS, connection.Refused, connection.NoRoute, connection.Timeout, connection.Interrupted, connection.TLSOther, connection.NotEtcd,
		connection.NotAsked, connection.Redirected, connection.StaleToken, connection.NoLogin, connection.Learner, connection.UnknownCA, connection.PermissionDenied, connection.WrongPassword,
	} {
		answers = append(answers, &connection.Error{Kind: kind, Err: errors.New("no such host")})
	}
	for _, answer := range answers {
		gone1, open1, hopeless1 := ask(answer, "http://a:1")
		gone2, open2, hopeless2 := ask(answer, "http://a:1", "http://b:1")
		if refuses := slices.Contains(refusals, connection.KindOf(answer)); hopeless1 != refuses {
			t.Errorf("%v: hopeless %v", answer, hopeless1)
		}
		if gone1 != gone2 || open1 != open2 || hopeless1 != hopeless2 || open1 != errors.Is(translate(answer), ErrAmbiguous) {
			t.Errorf("%v: unreachable %v, open %v, hopeless %v; from two endpoints %v, %v, %v", answer, gone1, open1, hopeless1, gone2, open2, hopeless2)
		}
	}
}

// Only the leader moves the leadership. Without an address of the leader no other
// member is asked, which would refuse it again and again.
func TestMoveLeaderAsksTheLeaderOnly(t *testing.T) {
	t.Parallel()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	c := New(connection.Settings{Endpoints: []string{"http://127.0.0.1:1"}}, pool)
	if err := c.MoveLeader(t.Context(), 7, 8); err == nil || connection.KindOf(err) != "" {
		t.Errorf("an endpoint was asked: %v", err)
	}
}

// Every answer of an endpoint shows a server, except those that are listed here.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	failed := func(k connection.Kind) error { return &connection.Error{Kind: k, Err: errors.New("x")} }
	for kind, want := range map[connection.Kind]bool{
		connection.Refused: true, connection.NoRoute: true, connection.Timeout: true, connection.DNS: true, connection.NotAsked: true,
		connection.NoLogin: false, connection.Learner: false,
		connection.UnknownCA: false, connection.Expired: false, connection.HostMismatch: false, connection.PlainServer: false, connection.ClientCert: false, connection.TLSOther: false,
		connection.NotEtcd: false, connection.WrongPassword: false, connection.AuthRequired: false, connection.StaleToken: false, connection.PermissionDenied: false,
		connection.Interrupted: false, connection.Redirected: false, connection.Server: false, "something new": false,
	} {
		if got := isSilent(failed(kind)); got != want {
			t.Errorf("%q: %v, want %v", kind, got, want)
		}
		gone := &connection.Unreachable{Answers: []connection.Answer{{Err: failed(connection.Refused)}, {Err: failed(kind)}}}
		if MayServe(gone) != (!want && kind != connection.NoLogin) {
			t.Errorf("%q beside a refused connection: %v", kind, MayServe(gone))
		}
	}
	if isSilent(&connection.Unreachable{}) {
		t.Error("it is silent although nobody was asked")
	}
	list, strong := memberList{cluster: 7, from: 3}, memberList{cluster: 7, from: 3, quorum: true}
	status := func(cluster uint64, learner bool) *clientv3.StatusResponse {
		return (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: cluster, MemberId: 3}, IsLearner: learner})
	}
	timeout := failed(connection.Timeout)
	for _, c := range []struct {
		name    string
		p       probe
		silent  bool
		cluster membership.ClusterID // of the answer, 0 if it names none
	}{
		{"nothing was sent", probe{err: context.DeadlineExceeded, listErr: context.Canceled}, true, 0},
		{"an unknown error", probe{err: errors.New("x"), listErr: timeout}, false, 0},
		{"one request of two shows a server", probe{err: failed(connection.UnknownCA), listErr: timeout}, false, 0},
		{"no login explains the status", probe{err: failed(connection.AuthRequired), listErr: failed(connection.NoLogin)}, false, 0},
		{"another cluster", probe{status: status(8, false), lists: []memberList{strong}}, false, 8},
		{"serves reads", probe{status: status(7, false), lists: []memberList{strong}}, false, 7},
		{"serves reads, without a status", probe{err: timeout, lists: []memberList{strong}}, false, 7},
		{"a list without a status", probe{err: timeout, lists: []memberList{list}}, false, 7},
		{"a status without a list", probe{status: status(7, false), listErr: timeout}, false, 7},
		{"a status, and no login", probe{status: status(7, false), listErr: failed(connection.NoLogin)}, false, 7},
		{"a local list", probe{status: status(7, false), lists: []memberList{list}}, false, 7},
		{"a learner", probe{status: status(7, true), listErr: failed(connection.Learner)}, false, 7},
	} {
		if got := c.p.heard(7); got.Silent != c.silent || got.Cluster != c.cluster || (got.Member == 3) != (c.cluster != 0) || got.Detail == "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
