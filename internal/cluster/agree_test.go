// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// of returns voters a1, a2 and so on, each at http://10.0.0.N:2379.
func of(peerURL string, ids ...uint64) []membership.Member {
	var out []membership.Member
	for _, id := range ids {
		out = append(out, membership.Member{ID: membership.MemberID(id), PeerURLs: []string{peerURL}, ClientURLs: []string{home(id)}})
	}
	return out
}

func home(id uint64) string { return fmt.Sprintf("http://10.0.0.%d:2379", id) }

// gave returns the probe of an endpoint that answers with the ID and the members.
func gave(endpoint string, id uint64, members []membership.Member) probe {
	return probe{endpoint: endpoint, lists: []memberList{{cluster: 1, from: membership.MemberID(id), members: members, quorum: true}}}
}

// The right list is confirmed, and the voters that gave another list are reported.
func TestListsAreCounted(t *testing.T) {
	real, fake := of("http://x:2380", 1, 2, 3), of("http://evil:2380", 1, 2, 3)
	learner := of("http://x:2380", 1, 2, 3)
	learner[2].Learner = true
	local := gave(home(2), 2, real)
	local.lists[0].quorum = false
	elsewhere := of("http://evil:2380", 1, 2, 3)
	for i := range elsewhere {
		elsewhere[i].ClientURLs = []string{home(uint64(i + 11))}
	}
	made := []probe{gave(home(11), 1, elsewhere), gave(home(12), 2, elsewhere), gave(home(13), 3, elsewhere)}
	for name, test := range map[string]struct {
		probes    []probe
		endpoints []string
		mapped    map[string]string
		want      []membership.Member
		confirmed bool
		against   []membership.MemberID
	}{
		"all":                          {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real), gave(home(3), 3, real)}, want: real, confirmed: true},
		"two of three":                 {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real)}, want: real, confirmed: true},
		"one of three":                 {probes: []probe{gave(home(1), 1, real)}, want: real},
		"the first of three lies":      {probes: []probe{gave(home(1), 1, fake), gave(home(2), 2, real), gave(home(3), 3, real)}, want: real, confirmed: true, against: []membership.MemberID{1}},
		"one by one":                   {probes: []probe{gave(home(1), 1, fake), gave(home(2), 2, real)}, want: fake, against: []membership.MemberID{2}},
		"one twice, at its address":    {probes: []probe{gave(home(1), 1, real), gave(home(1), 1, real)}, want: real},
		"another's address":            {probes: []probe{gave(home(1), 1, real), gave(home(1), 2, real)}, want: real},
		"a stranger's address":         {probes: []probe{gave(home(1), 1, real), gave(home(9), 2, real)}, want: real},
		"a configured address":         {probes: []probe{gave(home(1), 1, real), gave(home(9), 2, real)}, endpoints: []string{home(9)}, want: real, confirmed: true},
		"another's, though configured": {probes: []probe{gave(home(1), 1, real), gave(home(3), 2, real)}, endpoints: []string{home(3)}, want: real},
		"what another's is mapped to":  {probes: []probe{gave(home(1), 1, real), gave(home(9), 2, real)}, endpoints: []string{home(9)}, mapped: map[string]string{home(3): home(9)}, want: real},
		"what its own is mapped to":    {probes: []probe{gave(home(1), 1, real), gave(home(9), 2, real)}, mapped: map[string]string{home(2): home(9)}, want: real, confirmed: true},
		"a learner's word":             {probes: []probe{gave(home(1), 1, learner), gave(home(3), 3, learner)}, want: learner},
		"a list from memory":           {probes: []probe{gave(home(1), 1, real), local}, want: real},
		"one voter":                    {probes: []probe{gave(home(1), 1, real[:1])}, want: real[:1], confirmed: true},
		"no voters":                    {probes: []probe{gave(home(1), 1, learner[2:])}, want: learner[2:]},
		"two tongues":                  {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real), gave(home(9), 2, fake)}, endpoints: []string{home(9)}, want: real, against: []membership.MemberID{2}},
		"a made-up cluster":            {probes: made, endpoints: []string{home(11)}, want: elsewhere, confirmed: true},
		"and a real member":            {probes: slices.Concat(made, []probe{gave(home(1), 1, real)}), want: elsewhere, against: []membership.MemberID{1}},
		"a real member that was named": {probes: slices.Concat(made, []probe{gave(home(1), 1, real)}), endpoints: []string{home(1)}, want: elsewhere, against: []membership.MemberID{1}},
		"two of them":                  {probes: slices.Concat(made, []probe{gave(home(1), 1, real), gave(home(2), 2, real)}), endpoints: []string{home(1)}, want: real, confirmed: true},
		"two of them, none named":      {probes: slices.Concat(made, []probe{gave(home(1), 1, real), gave(home(2), 2, real)}), want: elsewhere, against: []membership.MemberID{1, 2}},
		"one leaves another out":       {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real), gave(home(3), 3, of("http://x:2380", 1, 3))}, endpoints: []string{home(1)}, want: real, confirmed: true, against: []membership.MemberID{3}},
		"one says that it is alone":    {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real), gave(home(3), 3, real[2:])}, endpoints: []string{home(1)}, want: real, against: []membership.MemberID{3}},
		"the named one leaves one out": {probes: []probe{gave(home(1), 1, real[:1]), gave(home(2), 2, real), gave(home(3), 3, real)}, endpoints: []string{home(1)}, want: real[:1], confirmed: true},
		"two that were named":          {probes: slices.Concat(made, []probe{gave(home(1), 1, real), gave(home(2), 2, real)}), endpoints: []string{home(1), home(2)}, want: real, confirmed: true},
		"two that the map names":       {probes: slices.Concat(made, []probe{gave(home(1), 1, real), gave(home(2), 2, real)}), mapped: map[string]string{home(1): "http://b:1", home(2): "http://b:2"}, want: real, confirmed: true},
		"a list that has one more":     {probes: []probe{gave(home(1), 1, real), gave(home(2), 2, real), gave(home(3), 3, of("http://x:2380", 1, 2, 3, 4))}, want: real, confirmed: true, against: []membership.MemberID{3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(connection.Settings{Endpoints: test.endpoints, AddressMap: test.mapped}, nil)
			got, ok := c.choose(test.probes, 1)
			if !ok || !got.same(memberList{cluster: 1, members: test.want}) || got.confirmed != test.confirmed || !slices.Equal(got.against, test.against) {
				t.Errorf("chose %v, confirmed %v, against %v", got.members, got.confirmed, got.against)
			}
		})
	}
}

// An observation of members that never answer comes to an end.
func TestAskerEnds(t *testing.T) {
	a, stop := New(connection.Settings{RequestTimeout: time.Millisecond}, nil).asker(t.Context())
	defer stop()
	for i := range 100 {
		a.ask(fmt.Sprint("http://", i), func(ctx context.Context, e string) probe {
			<-ctx.Done()
			return probe{endpoint: e}
		})
	}
	unasked := 0
	for ; a.pending > 0; a.pending-- {
		if p := <-a.answers; p.endpoint == "" {
			unasked++
		}
	}
	if unasked == 0 || unasked > 100-maxAtOnce {
		t.Errorf("%d were not asked", unasked)
	}
}

// Of the addresses that only members name, one for each member of the longest list is
// asked, and only so many at a time. The others are reported as not asked.
func TestLearnedAddressesAreBounded(t *testing.T) {
	t.Parallel()
	a, stop := New(settings("http://127.0.0.1:1"), nil).asker(t.Context())
	defer stop()
	var members []membership.Member
	for i := range maxMembers {
		m := membership.Member{ID: membership.MemberID(i + 1)}
		for j := range maxURLs {
			m.ClientURLs = append(m.ClientURLs, fmt.Sprintf("http://10.0.%d.%d:2379", i, j))
		}
		members = append(members, m)
	}
	var now, most, asked atomic.Int64
	ask := func(_ context.Context, endpoint string) probe {
		asked.Add(1)
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(100 * time.Microsecond)
		now.Add(-1)
		return probe{endpoint: endpoint}
	}
	for i := range 2 * maxLearned { // configured endpoints do not count
		a.ask(fmt.Sprintf("http://10.1.%d.1:2379", i), ask)
	}
	for range 2 {
		a.askMembers(members, ask, ask)
	}
	refused := map[string]bool{}
	for ; a.pending > 0; a.pending-- {
		if p := <-a.answers; connection.KindOf(p.err) == connection.NotAsked {
			refused[p.endpoint] = true
		}
	}
	if asked.Load() != 3*maxLearned || len(refused) != maxMembers*(maxURLs-1) || most.Load() > maxAtOnce || most.Load() < 2 {
		t.Errorf("%d asked, %d at a time, %d refused", asked.Load(), most.Load(), len(refused))
	}
	for _, m := range members {
		if refused[m.ClientURLs[0]] {
			t.Errorf("%s, the first address of a member, is refused", m.ClientURLs[0])
		}
	}
}

// The formats of alarms in 3.4 to 3.6 and in 3.7, and other messages among them.
func TestAlarmsIn(t *testing.T) {
	got := alarmsIn([]string{
		"etcdserver: no leader", "memberID:13803658152347727308 alarm:NOSPACE ", "memberID:1  alarm:CORRUPT", "alarm:NOSPACE", "memberID:99999999999999999999 alarm:NOSPACE ",
	})
	want := []membership.Alarm{{Member: 0xbf9071f4639c75cc, Kind: "NOSPACE"}, {Member: 1, Kind: "CORRUPT"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
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
		got := c.p.heard(7)[0]
		named := (got.Member == 3) == (c.cluster != 0)
		if got.Silent != c.silent || got.Cluster != c.cluster || !named || got.Detail == "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	// Behind one address, each request may reach a server of another cluster.
	other := memberList{cluster: 9, from: 4}
	both := probe{status: status(7, false), lists: []memberList{{cluster: 9, from: 5, quorum: true}, other}}.heard(7)
	if len(both) != 2 || both[0].Cluster != 7 || both[1].Cluster != 9 || both[1].Silent || both[1].Detail == "" {
		t.Errorf("two clusters at one address: %+v", both)
	}
	if one := (probe{err: timeout, lists: []memberList{other}}).heard(7); len(one) != 1 || one[0].Cluster != 9 {
		t.Errorf("a list of another cluster: %+v", one)
	}
	for kind, refuses := range map[connection.Kind]bool{
		connection.UnknownCA: true, connection.AuthRequired: true, connection.NoLogin: true, connection.Learner: true,
		connection.Refused: false, connection.Timeout: false, connection.DNS: false, connection.Interrupted: false,
		connection.NotAsked: true, connection.NotEtcd: false,
	} {
		if got := (probe{err: failed(kind), listErr: timeout}).heard(7); got[0].Refuses != refuses {
			t.Errorf("%q refuses: %v", kind, got[0].Refuses)
		}
	}
}
