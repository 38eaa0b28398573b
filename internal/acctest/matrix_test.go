// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// blow is an interruption of a run. act reports whether the call at which it
// happened continues.
type blow struct {
	name string
	act  func(r *Running) (goOn bool)
}

var (
	// Child processes of the CLI outlive it for a moment, and so do their calls.
	cliKilled = blow{"CLI killed", func(r *Running) bool {
		_ = r.Cmd.Process.Kill()
		AwaitEnd(r.Cmd.Process.Pid)
		return true
	}}
	providerKilled = blow{"provider killed", func(r *Running) bool {
		pids := r.Providers()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		AwaitEnd(pids...)
		return false
	}}
	interrupted = blow{"interrupted", func(r *Running) bool {
		r.Interrupt()
		return true
	}}
)

// point is one point of the matrix.
type point struct {
	at   etcdtest.Call
	when etcdtest.Moment
	blow blow
}

func (p point) String() string { return fmt.Sprintf("%s %s %s", p.blow.name, p.when, p.at) }

// step is an operation on d, the fourth member, and its expected result.
type step struct {
	name string
	// edit changes the configuration.
	edit func(m *matrix)
	// lead makes d the leader before the step.
	lead bool
	want []string
}

var (
	joining = step{"join", func(m *matrix) {
		*m.d = m.fresh
		m.Nodes["d"] = m.d
	}, false, []string{"a", "b", "c", "d"}}
	replacing = step{"replace", func(m *matrix) {
		m.generation++
		m.d.Config = fmt.Sprint("generation ", m.generation)
	}, true, []string{"a", "b", "c", "d"}}
	removing  = step{"remove", func(m *matrix) { m.Drop("d") }, true, []string{"a", "b", "c"}}
	following = step{"join as a learner", func(m *matrix) {
		*m.d = m.fresh
		m.d.Joins = "learner"
		m.Nodes["d"] = m.d
	}, false, []string{"a", "b", "c", "d (learner)"}}
	promoting = step{"promote", func(m *matrix) { m.d.Promote = true }, false, []string{"a", "b", "c", "d"}}
)

// matrix is a cluster of three, behind a tap, that d joins and leaves.
type matrix struct {
	*Fleet
	t   *testing.T
	tap *etcdtest.Tap
	// d is the fourth node, which is reused; fresh is its initial value.
	d          *Node
	fresh      Node
	generation int
	// ran and missed count the points whose moment was reached, and those whose
	// moment was not, because the run polled less often than the counted one.
	ran, missed int
	slowest     time.Duration // until the end of an interrupted run
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{Fleet: NewFleet(t, FleetOptions{Static: true}), t: t, tap: etcdtest.NewTap(t)}
	m.clients = map[string]*clientv3.Client{}
	m.Add("d")
	m.reachThrough(m.tap)
	m.d = m.Nodes["d"]
	m.fresh = *m.d
	m.Drop("d")
	m.Form()
	// Until then etcd can call a cluster that has just started unhealthy, and
	// members would be added in several attempts.
	time.Sleep(healthInterval)
	return m
}

// reachThrough makes the provider reach all current nodes through the tap.
func (f *Fleet) reachThrough(tap *etcdtest.Tap) {
	f.TB.Helper()
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		at := f.Nodes[name].Client
		entries = append(entries, fmt.Sprintf("%q = %q", at, tap.Front(at)))
	}
	f.Write("provider_override.tf", "provider \"etcd\" {\n  address_map = { "+strings.Join(entries, ", ")+" }\n}\n")
}

// healthInterval is how long every voter must be connected before etcd accepts
// a change.
const healthInterval = 5 * time.Second

// undisturbed runs a step and returns its calls.
func (m *matrix) undisturbed(s step) []etcdtest.Call {
	m.t.Helper()
	m.begin(s)
	m.tap.Watch(etcdtest.Call{}, etcdtest.Before, nil)
	m.Apply().MustSucceed()
	calls := m.tap.Calls()
	m.mustHaveCome(s)
	return calls
}

func (m *matrix) begin(s step) {
	m.t.Helper()
	if s.lead {
		m.makeLead("d", "a", "b", "c", "d")
	}
	before := m.Nodes["d"]
	s.edit(m)
	if joins := m.d.Joins; before == nil && KeepsStateBack(m.t) {
		// A separate run creates the machine.
		m.d.Joins = "not yet"
		m.Apply().MustSucceed()
		m.d.Joins = joins
	}
}

// disturbed runs a step with the blow at its point, and then applies again.
func (m *matrix) disturbed(s step, p point) {
	m.t.Helper()
	begin := time.Now()
	m.begin(s)
	started := make(chan *Running, 1)
	var struck time.Time
	m.tap.Watch(p.at, p.when, func() bool { r := <-started; struck = time.Now(); return p.blow.act(r) })
	run := m.Start("apply")
	started <- run
	out := run.Wait()
	hit := m.tap.Fired()
	m.tap.Watch(etcdtest.Call{}, etcdtest.Before, nil)
	half := time.Since(begin)
	switch {
	case !hit:
		m.missed++
		out.MustSucceed()
	case p.blow.name == interrupted.name:
		m.slowest = max(m.slowest, run.end.Sub(struck))
		fallthrough
	default:
		m.ran++
		m.mustKeepTrack()
	}
	if p.blow.name == providerKilled.name {
		m.ExpireLock()
	}
	if o := m.Apply(); o.ExitCode != 0 {
		m.t.Fatalf("%s, %s: the next apply fails:\n%s", s.name, p, o.Report())
	}
	m.mustHaveCome(s)
	m.t.Logf("%s, %s: hit %v, over after %v, healed after %v", s.name, p, hit, half.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
}

// mustKeepTrack fails the test if the cluster has a member d whose configuration is
// not in the state, or that has no record for this configuration.
func (m *matrix) mustKeepTrack() {
	m.t.Helper()
	for _, member := range m.Members("a", "b", "c") {
		if !slices.Equal(member.PeerURLs, []string{m.d.Peer}) {
			continue
		}
		config := m.State(Address("etcd_member_config", "d"))
		if config == nil {
			m.t.Fatalf("%x is in the cluster, and its configuration is not in the state", member.ID)
		}
		i := slices.IndexFunc(m.Records(), func(r OwnershipRecord) bool { return r.Owner == config["id"] })
		if i < 0 {
			m.t.Fatalf("%x is in the cluster, and %s is not on record: %v", member.ID, config["id"], m.Records())
		}
	}
}

// mustHaveCome fails the test unless the step is complete: the members match, d
// has one record or none, the lock is free, and the plan is empty.
func (m *matrix) mustHaveCome(s step) {
	m.t.Helper()
	m.MustList(slices.Clone(s.want)...)
	var owners []string
	if slices.ContainsFunc(s.want, func(name string) bool { return strings.HasPrefix(name, "d") }) {
		owners = []string{"d"}
	} else if _, err := os.Stat(m.Machines + "/d"); !os.IsNotExist(err) {
		m.t.Errorf("the machine of d is still there: %v", err)
	}
	m.MustHaveRecords(owners...)
	if lock := m.lock(); lock != nil {
		m.t.Errorf("the lock is held: %s", lock.Value)
	}
	m.Plan().MustBeEmpty()
}

// isChange reports whether a call changes something. These calls have the same
// order in every run, while the number of reads depends on how long a run waits.
func isChange(c etcdtest.Call) bool {
	return slices.Contains([]string{
		"Txn", "Put", "DeleteRange", "LeaseGrant", "LeaseRevoke", "LeaseKeepAlive", "MoveLeader",
		"MemberAdd", "MemberPromote", "MemberRemove", "MemberUpdate",
	}, c.Method)
}

// looks is how many of an operation's reads are among its points: there are
// about a hundred, and nothing happens between two of them.
const looks = 8

// points returns the points of an operation: before and after every call that
// changes something, and some reads, with each blow.
func points(calls []etcdtest.Call) []point {
	var chosen, reads []etcdtest.Call
	for _, c := range calls {
		if isChange(c) {
			chosen = append(chosen, c)
		} else {
			reads = append(reads, c)
		}
	}
	for i := range looks {
		chosen = append(chosen, reads[i*len(reads)/looks])
	}
	var out []point
	for _, c := range chosen {
		for _, when := range []etcdtest.Moment{etcdtest.Before, etcdtest.After} {
			for _, b := range []blow{cliKilled, providerKilled, interrupted} {
				out = append(out, point{c, when, b})
			}
		}
	}
	return out
}

// count formats the number of calls by method.
func count(calls []etcdtest.Call) string {
	n := map[string]int{}
	for _, c := range calls {
		n[c.Method]++
	}
	return fmt.Sprintf("%d calls: %v", len(calls), n)
}

// Wherever a run is interrupted, a plain apply afterwards completes the work:
// there is one member with the name, the quorum is never lost, and nothing is
// left over. The moments are before and after each call to the cluster, in runs
// that add, promote, replace or remove a member. The interruption is the end of
// the CLI, the end of the provider, or the operator's Ctrl-C.
func TestAccCrashMatrix(t *testing.T) {
	t.Parallel()
	at := func(method string, nth int, when etcdtest.Moment, b blow) point {
		return point{etcdtest.Call{Method: method, Nth: nth}, when, b}
	}
	for name, c := range map[string]struct {
		// stages end in the state in which they began.
		stages []stage
		// parts is the number of tests into which the long form is divided.
		parts int
	}{
		"join and remove": {[]stage{
			{joining, true, []point{at("MemberAdd", 1, etcdtest.After, cliKilled), at("MemberAdd", 1, etcdtest.Before, providerKilled)}},
			{removing, true, []point{at("MemberRemove", 1, etcdtest.After, providerKilled), at("MoveLeader", 1, etcdtest.After, interrupted)}},
		}, 8},
		"replace": {[]stage{
			{replacing, true, []point{at("MemberRemove", 1, etcdtest.After, cliKilled), at("MemberPromote", 1, etcdtest.Before, providerKilled)}},
		}, 6},
		"promote": {[]stage{
			{following, true, nil},
			{promoting, true, []point{at("MemberPromote", 1, etcdtest.After, providerKilled)}},
			{removing, false, nil},
		}, 8},
	} {
		parts := c.parts
		if !etcdtest.Full() {
			parts = 1
		}
		for part := range parts {
			t.Run(fmt.Sprintf("%s %d", name, part+1), func(t *testing.T) {
				t.Parallel()
				stages := slices.Clone(c.stages)
				m := newMatrix(t)
				if stages[0].lead {
					m.undisturbed(joining)
				}
				if etcdtest.Full() {
					for i, s := range stages {
						stages[i].points = nil
						if calls := m.undisturbed(s.step); s.counted {
							t.Logf("%s: %s", s.name, count(calls))
							stages[i].points = stripe(points(calls), part, parts)
						}
					}
				}
				m.run(stages)
			})
		}
	}
}

// stage is a step, whether the long form tests its points, and the points of
// the short form.
type stage struct {
	step
	counted bool
	points  []point
}

// stripe returns every n-th point, starting at part.
func stripe(all []point, part, n int) []point {
	var out []point
	for i := part; i < len(all); i += n {
		out = append(out, all[i])
	}
	return out
}

// run repeats the stages until all their points are tested, under writes.
func (m *matrix) run(stages []stage) {
	m.t.Helper()
	writer := m.Writer("a", "b", "c")
	for round := 0; slices.ContainsFunc(stages, func(s stage) bool { return round < len(s.points) }); round++ {
		for _, s := range stages {
			if round < len(s.points) {
				m.disturbed(s.step, s.points[round])
			} else {
				m.undisturbed(s.step)
			}
		}
	}
	m.MustNotPause(writer, Pause, "a", "b", "c")
	m.t.Logf("%d points, %d more that did not come; longest gap between writes %v; an interrupted run ended within %v",
		m.ran, m.missed, writer.LongestGap(), m.slowest.Round(time.Millisecond))
	if !etcdtest.Full() && m.missed > 0 {
		m.t.Errorf("%d points did not come", m.missed)
	}
	if m.slowest > 50*time.Second { // less than any timeout of the configuration
		m.t.Errorf("an interrupted run went on for %v", m.slowest)
	}
}

// makeLead moves the leadership to a voter; from names the possible current leaders.
func (f *Fleet) makeLead(name string, from ...string) {
	f.TB.Helper()
	id := f.MemberID(name)
	etcdtest.Eventually(f.TB, name+" leads", func() error {
		leader := f.Leader(from...)
		if leader == name {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := f.Client(leader).MoveLeader(ctx, id)
		return errors.Join(err, fmt.Errorf("%s leads", leader))
	})
}
