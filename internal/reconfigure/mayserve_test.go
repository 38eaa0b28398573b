// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// ending is a cluster whose only server shows itself for some requests, and refuses
// connections after that. Unexpected methods panic.
type ending struct {
	cluster.Cluster
	answers, asked int
	then           func()
}

func (e *ending) kind() connection.Kind {
	if e.asked++; e.asked > e.answers {
		return connection.Refused
	}
	return connection.Interrupted
}

func (e *ending) Evidence(context.Context, membership.ClusterID) membership.Evidence {
	if e.then != nil {
		e.then()
	}
	return membership.Evidence{Heard: []membership.Heard{{Endpoint: "http://a:1", Silent: e.kind() == connection.Refused}}}
}

func (e *ending) AddFallbackEndpoints([]string) {}

func (e *ending) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	return nil, 0, cluster.ErrAmbiguous
}

func (e *ending) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	return membership.Snapshot{}, &connection.Unreachable{Answers: []connection.Answer{{Err: &connection.Error{Kind: e.kind(), Err: errors.New("x")}}}}
}

// The machines of a cluster that is given up are destroyed side by side, so a server
// that answers once may be about to end. Only an answer that repeats counts, and an
// interruption is never taken for silence.
func TestAnAnswerWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	const always = 1 << 30
	for _, c := range []struct {
		answers int
		stated  string
		code    membership.Code
	}{{0, "a", ""}, {3, "a", ""}, {always, "a", membership.Contradicted}, {always, "", membership.MayServe}, {3, "", membership.NotStated}, {0, "b", membership.NotStated}} {
		clock := &instantly{}
		e := &reconfigure.Engine{Cluster: &ending{answers: c.answers}, Clock: clock, Process: &reconfigure.ProcessState{}}
		e.Process.Know(7, membership.Member{ID: 1, Name: "a", ClientURLs: []string{"http://a:1"}})
		err := e.GiveUp(t.Context(), 7, strings.Fields(c.stated))
		kept, refused := errors.AsType[*reconfigure.NotGivenUp](err)
		if refused != (c.code != "") || refused && kept.Decision.Code != c.code || !refused && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if took := clock.now.Sub(time.Time{}); took > 10*time.Second {
			t.Errorf("%+v: it took %v", c, took)
		}
		e = &reconfigure.Engine{Cluster: &ending{answers: c.answers}, Clock: &instantly{}, Process: &reconfigure.ProcessState{}}
		_, err = e.Withdraw(t.Context(), reconfigure.WithdrawRequest{Owner: "o", Name: "a"})
		if err == nil || cluster.MayServe(err) != (c.answers == always) {
			t.Errorf("the backstop, %+v: %v", c, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := &reconfigure.Engine{Cluster: &ending{then: cancel}, Clock: &instantly{}, Process: &reconfigure.ProcessState{}}
	if err := e.MayGiveUp(ctx, 7, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
