// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// halfFrozen is a cluster of a and the frozen learner d, which each observation
// asks for as long as a request may take.
type halfFrozen struct{ cluster.Cluster }

func (halfFrozen) list() []membership.Member {
	return []membership.Member{
		{ID: 7, Name: "a", PeerURLs: []string{"http://a:2"}, ClientURLs: []string{"http://a:1"}},
		{ID: 8, Name: "d", PeerURLs: []string{"http://d:2"}, ClientURLs: []string{"http://d:1"}, Learner: true},
	}
}

func (h halfFrozen) URLChanges(membership.ClusterID) cluster.URLChanges { return NoURLChanges{} }

func (h halfFrozen) Observe(ctx context.Context, _ membership.ClusterID) (membership.Snapshot, error) {
	err := clock.System{}.Sleep(ctx, connection.DefaultRequestTimeout)
	return membership.Snapshot{
		ClusterID: 1, Linearizable: true, Members: h.list(),
		Answers: map[membership.MemberID]membership.Answer{
			7: {State: membership.Answered, MemberID: 7, ClusterID: 1, Leader: 7, Term: 2, ReadOK: true, Version: "3.6.0"},
			8: {State: membership.Silent, Detail: "no answer in time"},
		},
	}, err
}

func (h halfFrozen) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	return h.list(), 1, nil
}

func (halfFrozen) Records(membership.ClusterID) cluster.Records { return ofD{} }

type ofD struct{ cluster.Records }

func (ofD) Get(_ context.Context, owner string) (cluster.Record, bool, error) {
	return cluster.Record{Owner: owner, Name: "d", PeerURLs: []string{"http://d:2"}, MemberID: "8", State: cluster.Announced}, true, nil
}

func (ofD) Put(_ context.Context, r cluster.Record, _ ...cluster.Record) (cluster.Record, error) {
	return r, nil
}

// A join whose time runs out gives the reason that its latest whole observation
// shows, whichever step made that observation.
func TestEveryObservationGivesAReason(t *testing.T) {
	const observation = connection.DefaultRequestTimeout
	for name, tt := range map[string]struct {
		limit time.Duration
		want  membership.Code
	}{
		"before the member is identified": {2*observation - time.Second, ""},
		"once it is identified":           {2*observation + time.Second, membership.NotAlive},
		"after a second observation":      {3*observation + time.Second, membership.NotAlive},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				e := &Engine{Clock: clock.System{}, Process: &ProcessState{}, Cluster: halfFrozen{}}
				_, err := e.Join(ctx, JoinRequest{Owner: "name:d", Name: "d", PeerURLs: []string{"http://d:2"}, Goal: Voting})
				late, ok := errors.AsType[*Incomplete](err)
				if !ok || late.Decision.Code != tt.want {
					t.Errorf("got %v, want the reason %q", err, tt.want)
				}
				if ok && tt.want != "" && (late.Reached != Started || late.Snapshot.Answer(8).State != membership.Silent) {
					t.Errorf("got to %v, by %+v", late.Reached, late.Snapshot)
				}
			})
		})
	}
}
