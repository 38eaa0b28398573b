// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
