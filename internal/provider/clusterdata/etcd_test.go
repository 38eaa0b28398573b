// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// seen is the data source in Go's own types.
type seen struct {
	ClusterID, Leader               string
	Reachable, Healthy              bool
	Term, Voters, Quorum, Tolerance int64
	VoterEndpoints, Alarms, Advice  []string
	Members                         []memberSeen
}

type memberSeen struct {
	ID, Name, Role, Answer, Endpoint, Version     string
	PeerURLs, ClientURLs                          []string
	Leads, Alive, Told                            bool
	DBSize, RaftTerm, RaftIndex, RaftApplied, Lag int64
}

// lookAt reads the data source.
func lookAt(t *testing.T, c *backend.Cluster) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := observe(ctx, c)
	var m model
	if err != nil {
		m.unreachable(ctx, err)
	} else if diags := m.take(ctx, l); diags.HasError() {
		t.Fatal(diags)
	}
	return seenIn(t, m)
}

func seenIn(t *testing.T, m model) seen {
	t.Helper()
	texts := func(l types.List) (out []string) {
		if diags := l.ElementsAs(t.Context(), &out, false); diags.HasError() {
			t.Fatal(diags)
		}
		return out
	}
	s := seen{
		ClusterID: m.ClusterID.ValueString(), Leader: m.Leader.ValueString(), Reachable: m.Reachable.ValueBool(), Healthy: m.Healthy.ValueBool(),
		Term: m.Term.ValueInt64(), Voters: m.Voters.ValueInt64(), Quorum: m.Quorum.ValueInt64(), Tolerance: m.FailureTolerance.ValueInt64(),
		VoterEndpoints: texts(m.VoterEndpoints), Advice: texts(m.Advice),
	}
	var members []memberModel
	var alarms []alarmModel
	if diags := append(m.Members.ElementsAs(t.Context(), &members, false), m.Alarms.ElementsAs(t.Context(), &alarms, false)...); diags.HasError() {
		t.Fatal(diags)
	}
	for _, a := range alarms {
		s.Alarms = append(s.Alarms, a.Alarm.ValueString()+" "+a.MemberID.ValueString())
	}
	for _, x := range members {
		s.Members = append(s.Members, memberSeen{
			ID: x.ID.ValueString(), Name: x.Name.ValueString(), Role: x.Role.ValueString(), Answer: x.Answer.ValueString(),
			Endpoint: x.Endpoint.ValueString(), Version: x.Version.ValueString(), PeerURLs: x.PeerURLs, ClientURLs: x.ClientURLs,
			Leads: x.Leader.ValueBool(), Alive: x.Alive.ValueBool(), Told: !x.RaftIndex.IsNull(),
			DBSize: x.DBSize.ValueInt64(), RaftTerm: x.RaftTerm.ValueInt64(), RaftIndex: x.RaftIndex.ValueInt64(),
			RaftApplied: x.RaftAppliedIndex.ValueInt64(), Lag: x.Lag.ValueInt64(),
		})
	}
	return s
}

func (s seen) member(t *testing.T, name string) memberSeen {
	t.Helper()
	for _, m := range s.Members {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no member %q in %+v", name, s.Members)
	return memberSeen{}
}

// mustAdvise fails the test unless exactly one sentence for each of these is
// there, in that order.
func (s seen) mustAdvise(t *testing.T, beginnings ...string) {
	t.Helper()
	ok := len(s.Advice) == len(beginnings)
	for i := range beginnings {
		ok = ok && strings.HasPrefix(s.Advice[i], beginnings[i])
	}
	if !ok {
		t.Errorf("advised:\n%s\nwant what begins with:\n%s", strings.Join(s.Advice, "\n"), strings.Join(beginnings, "\n"))
	}
}

// counting counts the looks at a cluster.
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

func (c *counting) Look(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	c.mu.Lock()
	c.observed++
	c.mu.Unlock()
	return c.Cluster.Look(ctx, want)
}

func (c *counting) Peers(ctx context.Context, of membership.MemberID, doubted []membership.MemberID) (map[membership.MemberID]bool, error) {
	c.mu.Lock()
	c.witness++
	c.mu.Unlock()
	return c.Cluster.Peers(ctx, of, doubted)
}

const requestTimeout = 2 * time.Second

// reach returns the cluster at the endpoints, and what counts its looks.
func reach(t *testing.T, addressMap map[string]string, endpoints ...string) (*backend.Cluster, *counting) {
	t.Helper()
	return reachWith(t, connection.Settings{Endpoints: endpoints, RequestTimeout: requestTimeout, AddressMap: addressMap})
}

// reachWith is reach with all settings.
func reachWith(t *testing.T, s connection.Settings) (*backend.Cluster, *counting) {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	s.MetadataPrefix, s.DialTimeout = "/t/", time.Second
	b := &backend.Backend{Pool: pool, Settings: s}
	c, err := b.Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{Cluster: c.Port}
	c.Port = count
	return c, count
}

// ctlStatus is what etcdctl endpoint status prints of one member.
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

// etcdctl runs it and decodes what it prints. A status ends with an error where
// a member is down, and prints the others; it does not wait long for them.
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

// agreed looks until etcdctl says the same before and after, so that nothing
// moved in between, and returns both.
func agreed(t *testing.T, b *etcdtest.Cluster, c *backend.Cluster) (seen, []ctlStatus) {
	t.Helper()
	for range 20 {
		var before, after []ctlStatus
		etcdctl(t, b, &before, "endpoint", "status")
		s := lookAt(t, c)
		etcdctl(t, b, &after, "endpoint", "status")
		if reflect.DeepEqual(before, after) {
			return s, before
		}
		time.Sleep(backendFreshness) // the look would be the same
	}
	t.Fatal("the cluster does not come to rest")
	return seen{}, nil
}

// backendFreshness is how long the backend shows the same look.
const backendFreshness = 2100 * time.Millisecond

// mustMatch compares every field with what etcdctl prints: of those that answer
// it, and of the member list, which a quorum gives, or where there is none any
// of them (etcdctl 3.6 and later).
func mustMatch(t *testing.T, b *etcdtest.Cluster, c *backend.Cluster, learners ...*etcdtest.Process) seen {
	t.Helper()
	for _, p := range learners {
		b.Track(p) // for etcdctl to ask it as well
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
	if want := strconv.FormatUint(list.Header.ClusterID, 16); s.ClusterID != want || !s.Reachable {
		t.Errorf("cluster %s, reachable %v, want %s", s.ClusterID, s.Reachable, want)
	}
	if want := strings.TrimPrefix(strconv.FormatUint(leader.Status.Leader, 16), "0"); s.Leader != want || s.Term != leader.Status.RaftTerm {
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
		want := memberSeen{
			ID: strconv.FormatUint(m.ID, 16), Name: m.Name, Role: "voter", PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs,
			Leads: m.ID == leader.Status.Leader, Alive: answers && led, Told: answers, Answer: s.Members[i].Answer, Endpoint: m.ClientURLs[0],
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
			want.Version, want.DBSize, want.RaftTerm = st.Status.Version, st.Status.DBSize, st.Status.RaftTerm
			want.RaftIndex, want.RaftApplied = st.Status.RaftIndex, st.Status.RaftAppliedIndex
		}
		if want.Alive {
			want.Lag = max(0, leader.Status.RaftIndex-st.Status.RaftAppliedIndex)
			want.Answer = fmt.Sprintf("%s (%s) is alive.", m.Name, want.ID)
		}
		if !reflect.DeepEqual(s.Members[i], want) {
			t.Errorf("saw  %+v\nwant %+v", s.Members[i], want)
		}
	}
	if s.Voters != voters || s.Quorum != voters/2+1 || s.Tolerance != max(0, alive-s.Quorum) || !slices.Equal(s.VoterEndpoints, endpoints) {
		t.Errorf("%d voters, quorum %d, tolerance %d, endpoints %v; want %d, %d, %d, %v", s.Voters, s.Quorum, s.Tolerance, s.VoterEndpoints,
			voters, voters/2+1, max(0, alive-s.Quorum), endpoints)
	}
	return s
}

// All is well, on every version, and one endpoint is enough to see it.
func TestAllWell(t *testing.T) {
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			c, count := reach(t, nil, b.Endpoints()[2])
			s := mustMatch(t, b, c)
			if !s.Healthy || s.Tolerance != 1 || len(s.Alarms) > 0 {
				t.Errorf("healthy %v, tolerance %d, alarms %v", s.Healthy, s.Tolerance, s.Alarms)
			}
			s.mustAdvise(t)
			if count.witness != 0 {
				t.Error("somebody was asked about members that answer")
			}
		})
	}
}

func TestOneDead(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	c, _ := reach(t, nil, b.Endpoints()...)
	dead := b.Leader(t)
	dead.Kill()
	b.Leader(t)
	s := mustMatch(t, b, c)
	if m := s.member(t, dead.Name); m.Answer != fmt.Sprintf("%s (%s) does not answer (%s: connection refused).", m.Name, m.ID, dead.ClientURL()) {
		t.Errorf("it answered %q", m.Answer)
	}
	if s.Healthy || s.Tolerance != 0 {
		t.Errorf("healthy %v, tolerance %d", s.Healthy, s.Tolerance)
	}
	s.mustAdvise(t, dead.Name+" (", "No further voter may fail: 2 of 3 voters are alive; quorum is 2.")
}

// A frozen member costs one look at all, and that look one request timeout: it
// is over long before a second could be.
func TestOneFrozen(t *testing.T) {
	for _, which := range []string{"a follower", "the leader"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			const timeout = 2 * requestTimeout
			b := etcdtest.Start(t, 3, etcdtest.Options{})
			frozen := b.Leader(t)
			if which == "a follower" {
				at := slices.Index(b.Members(), frozen)
				frozen = b.Members()[(at+1)%3]
			}
			frozen.Freeze()
			defer frozen.Thaw()
			b.Leader(t) // of the others
			c, count := reachWith(t, connection.Settings{Endpoints: b.Endpoints(), RequestTimeout: timeout})
			ctx, cancel := context.WithTimeout(t.Context(), 2*timeout)
			defer cancel()
			l, err := observe(ctx, c)
			if err != nil {
				t.Fatalf("not within two request timeouts: %v", err)
			}
			if count.observed != 1 || count.witness != 1 {
				t.Errorf("looked %d times, and asked for connections %d times", count.observed, count.witness)
			}
			var m model
			if diags := m.take(t.Context(), l); diags.HasError() {
				t.Fatal(diags)
			}
			s := seenIn(t, m)
			f := s.member(t, frozen.Name)
			if want := fmt.Sprintf("%s (%s) does not answer (%s: no answer in time).", f.Name, f.ID, frozen.ClientURL()); f.Answer != want {
				t.Errorf("it answered %q, want %q", f.Answer, want)
			}
			if s.Healthy || s.Tolerance != 0 || s.Leader == "" || s.Leader == f.ID {
				t.Errorf("healthy %v, tolerance %d, leader %q", s.Healthy, s.Tolerance, s.Leader)
			}
			mustMatch(t, b, c)
		})
	}
}

// Over mutual TLS. (With a password each login is an entry of the log, so that
// two looks never agree: TestAccTLSAndPassword.)
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	b := etcdtest.Start(t, 3, etcdtest.Options{TLS: pki})
	c, _ := reachWith(t, connection.Settings{
		Endpoints: b.Endpoints()[:1], RequestTimeout: requestTimeout, TLS: pki.ClientConfig(pki.Client("root")),
	})
	s := mustMatch(t, b, c)
	if !s.Healthy || s.Tolerance != 1 {
		t.Errorf("healthy %v, tolerance %d", s.Healthy, s.Tolerance)
	}
	s.mustAdvise(t)
}

// A learner that is well, and one that is cut off from the others and stands
// still while they go on.
func TestLearner(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Links: true})
	p := b.AddLearner(t, "learner1")
	c, count := reach(t, nil, b.Endpoints()...)
	s := mustMatch(t, b, c, p)
	if !s.Healthy || s.member(t, "learner1").Role != "learner" || slices.Contains(s.VoterEndpoints, p.ClientURL()) {
		t.Errorf("saw %+v", s)
	}
	s.mustAdvise(t, "No further voter may fail: 1 of 1 voters is alive; quorum is 1.")

	b.Isolate(p)
	client := b.Client(t)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 150 {
				if _, err := client.Put(t.Context(), fmt.Sprintf("k%d-%d", w, i), "v"); err != nil {
					t.Errorf("put: %v", err)
					return
				}
			}
		})
	}
	writers.Wait()
	time.Sleep(backendFreshness)
	count.observed = 0
	s = lookAt(t, c)
	m := s.member(t, "learner1")
	if count.observed != 2 || !m.Alive || m.Lag < 1000 {
		t.Errorf("looked %d times, and saw %+v", count.observed, m)
	}
	s.mustAdvise(t, fmt.Sprintf("Learner learner1 (%s) is %d entries behind the leader and does not move.", m.ID, m.Lag), "No further voter may fail")
}

func TestNoQuorum(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	c, _ := reach(t, nil, b.Endpoints()...)
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	// Until the survivor has noticed it takes itself for a leader.
	var s seen
	for range 20 {
		if s = lookAt(t, c); s.Leader == "" && strings.HasPrefix(strings.Join(s.Advice, ""), "The cluster has lost its quorum") {
			break
		}
		time.Sleep(backendFreshness)
	}
	s = mustMatch(t, b, c)
	m := s.member(t, "infra1")
	if m.Alive || !strings.Contains(m.Answer, "answers, but serves no linearizable read") {
		t.Errorf("saw %+v", m)
	}
	if !s.Reachable || s.Healthy || s.Leader != "" || s.Term != 0 || s.Tolerance != 0 || s.Voters != 3 || s.Quorum != 2 || len(s.VoterEndpoints) != 3 {
		t.Errorf("saw %+v", s)
	}
	s.mustAdvise(t, "The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2. infra")
}

func TestNobody(t *testing.T) {
	t.Parallel()
	a, b := etcdtest.NewProcess(t, etcdtest.Options{}), etcdtest.NewProcess(t, etcdtest.Options{})
	c, _ := reach(t, nil, a.ClientURL(), b.ClientURL())
	s := lookAt(t, c)
	if s.Reachable || s.Healthy || s.ClusterID != "" || len(s.Members) > 0 {
		t.Errorf("saw %+v", s)
	}
	first, second := a.ClientURL(), b.ClientURL()
	if second < first {
		first, second = second, first
	}
	s.mustAdvise(t, fmt.Sprintf("No endpoint gave a member list. %s: connection refused; %s: connection refused.", first, second))
}

// An alarm, as each version tells it.
func TestAlarm(t *testing.T) {
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, QuotaBytes: 4 << 20})
			client := b.Client(t)
			value := strings.Repeat("x", 1<<20)
			var err error
			for i := 0; i < 20 && err == nil; i++ {
				_, err = client.Put(t.Context(), fmt.Sprint(i), value)
			}
			if !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Fatalf("the database never filled: %v", err)
			}
			c, _ := reach(t, nil, b.Endpoints()...)
			s := mustMatch(t, b, c)
			var listed struct {
				Alarms []struct {
					MemberID uint64
					Alarm    int
				}
			}
			etcdctl(t, b, &listed, "alarm", "list")
			if len(listed.Alarms) != 1 || listed.Alarms[0].Alarm != 1 {
				t.Fatalf("etcdctl lists %+v", listed)
			}
			id := strconv.FormatUint(listed.Alarms[0].MemberID, 16)
			if !slices.Equal(s.Alarms, []string{"NOSPACE " + id}) || s.Healthy {
				t.Errorf("alarms %v, healthy %v", s.Alarms, s.Healthy)
			}
			s.mustAdvise(t, fmt.Sprintf("infra1 (%s) raised the alarm NOSPACE: a database has reached its quota", id), "No further voter may fail")
		})
	}
}

func TestMixedVersions(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 4, etcdtest.Options{Versions: []etcdtest.Version{etcdtest.V35, etcdtest.V35, etcdtest.V36, etcdtest.V36}})
	c, _ := reach(t, nil, b.Endpoints()...)
	s := mustMatch(t, b, c)
	older, newer := s.member(t, "infra1").Version, s.member(t, "infra4").Version
	if !strings.HasPrefix(older, "3.5.") || !strings.HasPrefix(newer, "3.6.") || !s.Healthy || s.Tolerance != 1 {
		t.Errorf("saw %+v", s)
	}
	s.mustAdvise(t, "4 voters survive the loss of 1, as 3 do, and there is one more that can fail.",
		fmt.Sprintf("The members run different versions: %s (infra1 and infra2), %s (infra3 and infra4). Finish the upgrade.", older, newer))
}

// Only one address leads to the cluster, and whoever is behind it answers. It
// takes an address map to see more.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	shared := etcdtest.Proxy(t, strings.TrimPrefix(b.Endpoints()[0], "http://")).Addr()
	balancer := "http://" + shared
	t.Run("every address leads to it", func(t *testing.T) {
		c, _ := reach(t, map[string]string{b.Endpoints()[0]: balancer, b.Endpoints()[1]: balancer, b.Endpoints()[2]: balancer}, b.Endpoints()...)
		s := lookAt(t, c)
		m := s.member(t, "infra2")
		want := fmt.Sprintf("infra2 (%s) could not be asked (%s: answered by member %s).", m.ID, b.Endpoints()[1], s.member(t, "infra1").ID)
		if m.Alive || m.Told || m.Answer != want || s.Healthy || len(s.Members) != 3 {
			t.Errorf("saw %+v\nwant %s", m, want)
		}
		s.mustAdvise(t, "infra")
		if !strings.Contains(s.Advice[0], "address_map") {
			t.Errorf("advised %s", s.Advice[0])
		}
	})
	nowhere := etcdtest.NewProcess(t, etcdtest.Options{}).ClientURL()
	hidden := map[string]string{b.Endpoints()[1]: nowhere, b.Endpoints()[2]: nowhere}
	t.Run("the others cannot be reached", func(t *testing.T) {
		c, _ := reach(t, hidden, balancer)
		s := lookAt(t, c)
		if s.Healthy || !s.Reachable || len(s.Members) != 3 || !s.member(t, "infra1").Alive || s.member(t, "infra2").Alive {
			t.Errorf("saw %+v", s)
		}
		s.mustAdvise(t, "infra")
		if !strings.Contains(s.Advice[0], "address_map") {
			t.Errorf("advised %s", s.Advice[0])
		}
	})
	t.Run("one of them cannot be reached", func(t *testing.T) {
		c, _ := reach(t, map[string]string{b.Endpoints()[2]: nowhere}, balancer)
		s := lookAt(t, c)
		s.mustAdvise(t, fmt.Sprintf("infra3 (%s) does not answer (%s: connection refused). The cluster is connected to infra3", s.member(t, "infra3").ID, b.Endpoints()[2]), "No further voter may fail")
	})
	t.Run("mapped", func(t *testing.T) {
		mapped := map[string]string{}
		for _, e := range b.Endpoints() {
			mapped[e] = "http://" + etcdtest.Proxy(t, strings.TrimPrefix(e, "http://")).Addr()
		}
		c, _ := reach(t, mapped, b.Endpoints()[0])
		s := mustMatch(t, b, c)
		if !s.Healthy {
			t.Errorf("saw %+v", s)
		}
		s.mustAdvise(t)
	})
}
