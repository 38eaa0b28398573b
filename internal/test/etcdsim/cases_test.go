// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// interval is etcd's HealthInterval, stated here once more.
const interval = 5 * time.Second

// member is a server with a client of it.
type member struct {
	server
	*clientv3.Client
}

func open(tb etcdtest.TB, servers ...server) (out []member) {
	for _, s := range servers {
		out = append(out, member{s, s.Client(tb)})
	}
	return out
}

// short calls f with a context that ends soon.
func short(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	return f(ctx)
}

// line renders values, with spaces between them.
func line(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

func ok(tb etcdtest.TB, err error) {
	tb.Helper()
	refused(tb, err, nil)
}

// refused fails the case unless want is the answer.
func refused(tb etcdtest.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("answer %v, want %v", err, want)
	}
}

func same[T any](tb etcdtest.TB, what string, got, want T) {
	tb.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		tb.Fatalf("%s: %s, want %s", what, g, w)
	}
}

func (m member) status(tb etcdtest.TB) *clientv3.StatusResponse {
	tb.Helper()
	st, err := m.Status(etcdtest.WaitContext(tb), m.ClientURL())
	ok(tb, err)
	return st
}

// leader waits until all of the members name the same one, and returns it.
func leader(tb etcdtest.TB, members []member) (lead member) {
	tb.Helper()
	etcdtest.Eventually(tb, "a leader", func() error {
		names := map[uint64]bool{}
		for _, m := range members {
			var st *clientv3.StatusResponse
			if err := short(func(ctx context.Context) (err error) { st, err = m.Status(ctx, m.ClientURL()); return err }); err != nil {
				return err
			}
			if names[st.Leader] = true; st.Leader == st.Header.MemberId {
				lead = m
			}
		}
		if lead.server == nil || len(names) != 1 {
			return fmt.Errorf("leaders %v", names)
		}
		return nil
	})
	return lead
}

// add adds a learner as soon as the cluster counts as healthy.
func add(tb etcdtest.TB, m member, peerURL string) (id uint64) {
	tb.Helper()
	etcdtest.Eventually(tb, "an add", func() error {
		got, err := m.MemberAddAsLearner(etcdtest.WaitContext(tb), []string{peerURL})
		if err == nil {
			id = got.Member.ID
		} else if !errors.Is(err, rpctypes.ErrUnhealthy) {
			tb.Fatalf("add %v: %v", peerURL, err)
		}
		return err
	})
	return id
}

// The health interval counts from the connection of the voters, so from after their
// start.
func healthIntervalCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers...)[1]
	learner := add(tb, m, "http://127.0.0.1:1")
	if took := time.Since(s.began); took < interval {
		tb.Fatalf("healthy %v after the start", took)
	}
	_, err := m.MemberRemove(etcdtest.WaitContext(tb), learner)
	ok(tb, err)
}

// The ID of a member is a hash of its URLs and the second. One that is added, removed and
// added again within a second has that of one that was removed. A machine that needs longer
// tries again.
func oneSecondCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers...)[0]
	ctx := etcdtest.WaitContext(tb)
	port := 10
	etcdtest.Eventually(tb, "three changes within one second", func() error {
		port++
		url := fmt.Sprint("http://127.0.0.1:", port)
		first := add(tb, m, url)
		at := time.Now()
		_, err := m.MemberRemove(ctx, first)
		ok(tb, err)
		again, err := m.MemberAddAsLearner(ctx, []string{url})
		if uint64(membership.ComputeMemberID([]string{url}, fmt.Sprint(at.Unix()))) == first && time.Now().Unix() == at.Unix() {
			refused(tb, err, rpctypes.ErrMemberNotFound)
			return nil
		}
		if err == nil {
			_, err = m.MemberRemove(ctx, again.Member.ID)
		}
		return errors.Join(err, errors.New("the second was over"))
	})
}

// revision returns the present revision, as soon as the member has applied it.
func revision(tb etcdtest.TB, m member) int64 {
	tb.Helper()
	got, err := m.Get(etcdtest.WaitContext(tb), "none", clientv3.WithCountOnly())
	ok(tb, err)
	return got.Header.Revision
}

// A lease expires not before its time, and takes its keys with it, as a watch shows.
func expiryCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	ctx, cancel := context.WithCancel(etcdtest.WaitContext(tb))
	defer cancel()
	watch := ms[1].Watch(ctx, "short", clientv3.WithPrevKV())
	begin := time.Now()
	got, err := ms[0].Grant(ctx, 1)
	ok(tb, err)
	same(tb, "the shortest", got.TTL, s.minTTL)
	_, err = ms[0].Put(ctx, "short", "lived", clientv3.WithLease(got.ID))
	if errors.Is(err, rpctypes.ErrLeaseNotFound) && time.Since(begin) > seconds(s.minTTL) {
		expiryCase(tb, s) // the machine stood still
		return
	}
	ok(tb, err)
	var events []string
	for len(events) < 2 {
		answer := <-watch
		ok(tb, answer.Err())
		for _, e := range answer.Events {
			events = append(events, line(e.Type, string(e.Kv.Key), string(e.Kv.Value), string(e.PrevKv.GetValue()), e.PrevKv.GetLease() == int64(got.ID)))
		}
	}
	same(tb, "events", events, []string{"PUT short lived  false", "DELETE short  lived true"})
	if took := time.Since(begin); took < seconds(s.minTTL) {
		tb.Fatalf("expired after %v", took)
	}
	left, err := ms[2].TimeToLive(ctx, got.ID)
	ok(tb, err)
	same(tb, "of an expired one", left.TTL, -1)
	cancel()
	for range watch { // until it is closed
	}
}

func statusCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	lead := leader(tb, ms)
	want := lead.status(tb)
	for _, m := range ms {
		st := m.status(tb)
		same(tb, "status", line(st.Version, st.Leader, st.Header.ClusterId, st.IsLearner, st.Errors, st.RaftTerm >= 2, st.RaftTerm == want.RaftTerm, st.RaftTerm == st.Header.RaftTerm),
			line(s.version, want.Header.MemberId, want.Header.ClusterId, false, []string{}, true, true, true))
		etcdtest.Until(tb, "all is applied", func() bool { st := m.status(tb); return st.RaftIndex == st.RaftAppliedIndex })
		quota := 0
		if s.version.from36() {
			quota = 2 << 30
		}
		same(tb, "new fields", line(st.StorageVersion, st.DbSizeQuota, st.DowngradeInfo.GetEnabled(), st.DowngradeInfo.GetTargetVersion()), line(s.version.storageVersion(), quota, false, ""))
	}
	before := lead.status(tb).RaftIndex
	_, err := ms[0].Put(etcdtest.WaitContext(tb), "index", "")
	ok(tb, err)
	if after := lead.status(tb).RaftIndex; after <= before {
		tb.Fatalf("index %d before a write, %d after it", before, after)
	}
	metrics := metricsOf(lead.server)
	same(tb, "metrics", line(strings.Contains(metrics, "\netcd_server_is_leader 1\n"), strings.Count(metrics, "\netcd_network_active_peers{")), "true 2")
}

// call gives a server another name, and looks at what it is.
func (p *script) call(server, name string) {
	s := p.servers[server]
	s.ResponseHeader = s.status(p).Header
	p.servers[name] = s
	p.set("$"+name, fmt.Sprint(s.MemberId))
	p.set("$url_"+name, s.PeerURL())
	p.set("$name_"+name, s.name)
}

// leads waits until the named servers have one leader, and returns its name. Without names
// it calls the leader of all servers lead, and the others f1 and so on.
func (p *script) leads(names ...string) (lead string) {
	all := names
	for _, letter := range []string{"a", "b", "c", "d"} {
		if p.servers[letter] != nil && len(names) == 0 {
			all = append(all, letter)
		}
	}
	var ms []member
	for _, name := range all {
		ms = append(ms, p.servers[name].member)
	}
	leading := leader(p, ms)
	followers := 0
	for i, name := range all {
		as := name
		switch isLead := ms[i].server == leading.server; {
		case isLead && len(names) == 0:
			as = "lead"
		case isLead:
			lead = name
		case len(names) == 0:
			followers++
			as = fmt.Sprint("f", followers)
		}
		p.call(name, as)
	}
	return lead
}

// do starts and stops servers, and cuts them off.
func (p *script) do(line string) string {
	what, name, _ := strings.Cut(line, " ")
	s := p.servers[name]
	switch what {
	case "join": // neither added nor started
		one := p.joiner(p, name)
		p.servers[name] = &scripted{member: member{server: one}, name: name}
		p.set("$url_"+name, one.PeerURL())
	case "start":
		s.Start()
		if s.Client == nil {
			s.Client, s.conn = s.server.Client(p), s.server.conn(p)
		}
	case "restart": // another process, which its start time tells from the one before
		first := started(s.server)
		s.PowerOff()
		s.Start()
		etcdtest.Until(p, "another start time", func() bool { return started(s.server) > first })
	case "store": // what is applied, in snapshots; of the last one the log may not know yet
		_, simulated := s.server.(simServer) // which forgets nothing
		const snapshots = "etcd_debugging_snap_save_total_duration_seconds_count"
		first := metric(s.server, snapshots)
		etcdtest.Until(p, "three snapshots", func() bool {
			_, _ = s.Revoke(etcdtest.WaitContext(p), 1) // an entry of the log, and no revision
			return simulated || metric(s.server, snapshots) >= first+3
		})
	case "poweroff":
		s.PowerOff()
	case "freeze":
		s.Freeze()
	case "thaw":
		s.Thaw()
	case "split":
		p.split(s.server)
	case "heal":
		p.heal()
	case "rest":
		time.Sleep(time.Minute)
	case "move": // a process to another port
		s.PowerOff()
		s.server.(simServer).Process.PeerURL = "http://" + name + ".example:3380"
		s.Start()
	case "wipe":
		s.server.(simServer).Wipe()
	case "stall":
		s.server.(simServer).Stall()
	case "catchup":
		s.server.(simServer).CatchUp()
	default:
		p.Fatalf("cannot %s", what)
	}
	return ""
}

// started returns the start time of a process, 0 while it does not serve.
func started(s server) float64 { return metric(s, "process_start_time_seconds") }

// metric returns a value of a server, 0 while it does not serve.
func metric(s server, name string) (value float64) {
	_, rest, _ := strings.Cut(metricsOf(s), "\n"+name+" ")
	_, _ = fmt.Sscan(rest, &value)
	return value
}

// metricsOf returns the metrics of a server, "" while it does not serve.
func metricsOf(s server) string {
	resp, err := (&http.Client{Transport: s.web()}).Get(s.ClientURL() + "/metrics")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		return "\n" + string(body)
	}
	return ""
}

// peers returns the servers to which a server is connected.
func (p *script) peers(name string) string {
	var out []string
	metrics := metricsOf(p.servers[name].server)
	if metrics == "" {
		return "unknown"
	}
	for symbol, id := range p.values {
		n, _ := strconv.ParseUint(id, 10, 64)
		if p.symbols[id] == symbol && strings.Contains(metrics, fmt.Sprintf("\netcd_network_active_peers{Local=\"%x\",Remote=\"%x\"} 1\n", p.servers[name].MemberId, n)) {
			out = append(out, symbol)
		}
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, " "), "none")
}

// await repeats requests until the answers are those of the file. If it has none yet, any
// will do that are no errors.
func (p *script) await(what, want string, lines func() string) (out string) {
	etcdtest.Eventually(p, what, func() error {
		if out = lines(); out == want || want == "" && !strings.Contains(out, "! ") {
			return nil
		}
		return errors.New(out)
	})
	return out
}

// header looks at what a server is that was started after the others.
func (p *script) header(name string) {
	if s := p.servers[name]; s.ResponseHeader == nil &&
		short(func(ctx context.Context) error { _, err := s.Status(ctx, s.ClientURL()); return err }) == nil {
		p.call(name, name)
	}
}
