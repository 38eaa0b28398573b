// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// A healthy cluster, on every version; one endpoint suffices to observe it.
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

// A frozen member costs a single observation, and that costs a single request
// timeout: it ends long before a second observation could.
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
			if diags := m.fromLook(t.Context(), l); diags.HasError() {
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

// Mutual TLS. (With a password, each login is an entry of the log, so two
// observations never agree: TestAccTLSAndPassword.)
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

// A healthy learner, and a learner that is cut off from the others and makes no
// progress while they continue.
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
	c.Changed() // observe again
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
	// Until the survivor has noticed, it considers itself the leader.
	var s seen
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		c.Changed() // observe again
		if s = lookAt(t, c); s.Leader == "" && strings.HasPrefix(strings.Join(s.Advice, ""), "The cluster has lost its quorum") {
			break
		}
	}
	s = mustMatch(t, b, c)
	m := s.member(t, "infra1")
	if m.Alive || !strings.Contains(m.Answer, "answers, but serves no linearizable read") {
		t.Errorf("saw %+v", m)
	}
	if !s.Reachable || s.Healthy || s.Leader != "" || s.Term != 0 || s.Tolerance != 0 || s.Voters != 3 || s.Quorum != 2 || len(s.VoterEndpoints) != 3 {
		t.Errorf("saw %+v", s)
	}
	s.mustAdvise(t, "The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2. infra", "infra1 ("+m.ID+") has the most data of the members that answer: raft index ")
	if want := fmt.Sprint("infra1 ", m.ID, " voter ", m.DBSize, m.RaftTerm, m.RaftIndex, m.RaftApplied); s.Survivor != want {
		t.Errorf("the survivor is %q, want %q", s.Survivor, want)
	}
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

// An alarm, as each version reports it.
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
	s.mustAdvise(t, "4 voters tolerate the failure of 1, the same as 3.",
		fmt.Sprintf("The members run different versions: %s (infra1 and infra2), %s (infra3 and infra4). Finish the upgrade.", older, newer))
}

// Only one address leads to the cluster, to any of its members. More can be
// observed only with an address map.
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
