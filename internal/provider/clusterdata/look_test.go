// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// lookAt reads the data source.
func lookAt(t *testing.T, c *backend.Cluster) model {
	t.Helper()
	l, err := observe(etcdtest.WaitContext(t), c)
	if err != nil {
		return fromError(err)
	}
	return fromLook(l)
}

func (m model) member(t *testing.T, name string) memberModel {
	t.Helper()
	for _, x := range m.Members {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no member %q in %+v", name, m.Members)
	return memberModel{}
}

// mustAdvise fails the test unless the advice consists of one sentence for each
// of these beginnings, in that order.
func (m model) mustAdvise(t *testing.T, beginnings ...string) {
	t.Helper()
	ok := len(m.Advice) == len(beginnings)
	for i := range beginnings {
		ok = ok && strings.HasPrefix(m.Advice[i], beginnings[i])
	}
	if !ok {
		t.Errorf("advised:\n%s\nwant what begins with:\n%s", strings.Join(m.Advice, "\n"), strings.Join(beginnings, "\n"))
	}
}

// counting counts the observations of a cluster.
type counting struct {
	cluster.Cluster
	mu                sync.Mutex
	observed, witness int
}

func (c *counting) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	c.mu.Lock()
	c.observed++
	c.mu.Unlock()
	return c.Cluster.Observe(ctx, want)
}

func (c *counting) Peers(ctx context.Context, of membership.MemberID, doubted []membership.MemberID) (map[membership.MemberID]bool, error) {
	c.mu.Lock()
	c.witness++
	c.mu.Unlock()
	return c.Cluster.Peers(ctx, of, doubted)
}

const requestTimeout = 2 * time.Second

// reach returns the cluster at the endpoints, and the counter of its observations.
func reach(t *testing.T, addressMap map[string]string, endpoints ...string) (*backend.Cluster, *counting) {
	t.Helper()
	return reachWith(t, connection.Settings{Endpoints: endpoints, RequestTimeout: requestTimeout, AddressMap: addressMap})
}

// reachWith is reach with other settings.
func reachWith(t *testing.T, s connection.Settings) (*backend.Cluster, *counting) {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	s.DialTimeout = time.Second
	b := &backend.Backend{Run: backend.NewRun(), Pool: pool, Settings: s}
	c, err := b.Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{Cluster: c.Cluster}
	c.Cluster = count
	return c, count
}

// ctlStatus is the output of etcdctl endpoint status for one member.
type ctlStatus struct {
	Endpoint string
	Status   struct {
		Header struct {
			MemberID  uint64 `json:"member_id"`
			ClusterID uint64 `json:"cluster_id"`
		}
		Version          string
		DBSize           int64
		Leader           uint64
		RaftIndex        int64
		RaftTerm         int64
		RaftAppliedIndex int64
		IsLearner        bool
	}
}

type ctlMember struct {
	ID                   uint64
	Name                 string
	PeerURLs, ClientURLs []string
	IsLearner            bool
}

// etcdctl runs etcdctl and decodes its output. If a member is down, endpoint
// status prints the others and fails; it does not wait long for that member.
func etcdctl(t *testing.T, b *etcdtest.Cluster, into any, args ...string) {
	t.Helper()
	patience := "--command-timeout=20s"
	if slices.Contains(args, "status") {
		patience = "--command-timeout=2s"
	}
	out, err := b.Etcdctl(append(args, "-w", "json", patience, "--dial-timeout=1s")...)
	if jsonErr := json.Unmarshal([]byte(out), into); jsonErr != nil {
		t.Fatalf("etcdctl %s: %v, %v\n%s", strings.Join(args, " "), err, jsonErr, out)
	}
}

// agreed observes until etcdctl prints the same before and after, so that
// nothing has changed in between, and returns both.
func agreed(t *testing.T, b *etcdtest.Cluster, c *backend.Cluster) (model, []ctlStatus) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); c.Changed() {
		var before, after []ctlStatus
		etcdctl(t, b, &before, "endpoint", "status")
		s := lookAt(t, c)
		etcdctl(t, b, &after, "endpoint", "status")
		if reflect.DeepEqual(before, after) {
			return s, before
		}
	}
	t.Fatal("the cluster does not come to rest")
	return model{}, nil
}

// mustMatch compares every field with the output of etcdctl, for the members
// that respond to it, and with the member list. The list comes from a quorum
// or, without one, from any member (etcdctl 3.6 and later).
func mustMatch(t *testing.T, b *etcdtest.Cluster, c *backend.Cluster, learners ...*etcdtest.Process) model {
	t.Helper()
	for _, p := range learners {
		b.Track(p) // so that etcdctl asks it too
		defer b.Untrack(p)
	}
	s, statuses := agreed(t, b, c)
	var list struct {
		Header struct {
			ClusterID uint64 `json:"cluster_id"`
		}
		Members []ctlMember
	}
	byID := map[uint64]ctlStatus{}
	var leader ctlStatus
	for _, st := range statuses {
		byID[st.Status.Header.MemberID] = st
		if st.Status.Leader == st.Status.Header.MemberID {
			leader = st
		}
	}
	led := leader.Status.Leader != 0
	if led {
		etcdctl(t, b, &list, "member", "list")
	} else {
		etcdctl(t, b, &list, "member", "list", "--consistency=s")
	}
	if want := types.StringValue(strconv.FormatUint(list.Header.ClusterID, 16)); s.ClusterID != want || !s.Reachable {
		t.Errorf("cluster %s, reachable %v, want %s", s.ClusterID, s.Reachable, want)
	}
	if want := strings.TrimPrefix(strconv.FormatUint(leader.Status.Leader, 16), "0"); s.Leader.ValueString() != want || s.Term.ValueInt64() != leader.Status.RaftTerm {
		t.Errorf("leader %s in term %d, want %s in %d", s.Leader, s.Term, want, leader.Status.RaftTerm)
	}
	voters, alive := int64(0), int64(0)
	var endpoints []string
	slices.SortFunc(list.Members, func(a, b ctlMember) int { return strings.Compare(a.Name, b.Name) })
	if len(s.Members) != len(list.Members) {
		t.Fatalf("%d members, want %d", len(s.Members), len(list.Members))
	}
	for i, m := range list.Members {
		st, answers := byID[m.ID]
		id := strconv.FormatUint(m.ID, 16)
		want := memberModel{
			survivorModel: survivorModel{ID: types.StringValue(id), Name: m.Name, Role: "voter"}, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs,
			Leader: m.ID == leader.Status.Leader, Alive: answers && led, Answer: s.Members[i].Answer, Endpoint: types.StringValue(m.ClientURLs[0]),
		}
		if m.IsLearner {
			want.Role = "learner"
		} else {
			voters++
			endpoints = append(endpoints, m.ClientURLs...)
			if want.Alive {
				alive++
			}
		}
		if answers {
			want.Version, want.DBSize, want.RaftTerm = types.StringValue(st.Status.Version), types.Int64Value(st.Status.DBSize), types.Int64Value(st.Status.RaftTerm)
			want.RaftIndex, want.RaftAppliedIndex = types.Int64Value(st.Status.RaftIndex), types.Int64Value(st.Status.RaftAppliedIndex)
		}
		if want.Alive {
			want.Lag = types.Int64Value(max(0, leader.Status.RaftIndex-st.Status.RaftAppliedIndex))
			want.Answer = fmt.Sprintf("%s (%s) is alive.", m.Name, id)
		}
		if !reflect.DeepEqual(s.Members[i], want) {
			t.Errorf("saw  %+v\nwant %+v", s.Members[i], want)
		}
	}
	quorum := voters/2 + 1
	got := []int64{s.Voters.ValueInt64(), s.Quorum.ValueInt64(), s.FailureTolerance.ValueInt64()}
	if want := []int64{voters, quorum, max(0, alive-quorum)}; !slices.Equal(got, want) || !slices.Equal(s.VoterEndpoints, endpoints) {
		t.Errorf("voters, quorum and tolerance %v, endpoints %v; want %v, %v", got, s.VoterEndpoints, want, endpoints)
	}
	return s
}
