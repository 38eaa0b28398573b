// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// lab is a healthy cluster on which tests try harmful commands.
type lab struct {
	*acctest.Fleet
	t    testing.TB
	in   layout
	size int
	// members are the names of the voters, which are also their keys unless a
	// case says otherwise.
	members []string
	urls    map[string]string // the client URL of each node, also after its removal
}

// attempt is a command that could harm a cluster, with a check that it does
// not, and the operator's next steps.
type attempt struct {
	name string
	// not are the layouts in which the attempt has another meaning.
	not []layout
	// long: only with ETCD_TEST_FULL=1.
	long bool
	// last: the configuration has changed afterwards. gone: nothing remains.
	last, gone bool
	run        func(l *lab)
}

// tryAll makes the attempts on each variant, one after the other on one
// cluster. After an attempt that fails, the next one gets a new cluster.
func tryAll(t *testing.T, in []variant, attempts []attempt) {
	t.Helper()
	for _, v := range in {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			var l *lab
			for _, a := range attempts {
				if slices.Contains(a.not, v.layout) || a.long && !etcdtest.Full() {
					continue
				}
				if l == nil {
					l = newLab(t, v)
				}
				passed := t.Run(a.name, func(t *testing.T) {
					l.t, l.TB = t, t
					l.try(a)
				})
				l.t, l.TB = t, t
				if !passed || a.last || a.gone {
					l.end()
					l = nil
				}
			}
		})
	}
}

// newLab forms a cluster.
func newLab(t *testing.T, v variant) *lab {
	t.Helper()
	names := []string{"a", "b", "c", "d", "e"}[:v.size]
	l := &lab{in: v.layout, size: v.size, t: t, members: names, urls: map[string]string{}}
	l.Fleet = acctest.NewFleet(t, acctest.FleetOptions{Founders: names, Version: v.version, Static: v.layout != dynamic})
	useLayout(l.Fleet, v.layout)
	l.Form()
	l.note()
	return l
}

// end kills the machines, which would otherwise run until the end of the test. In
// the meantime a supervisor can start another etcd, so it tries several times.
func (l *lab) end() {
	for range 3 {
		for _, p := range acctest.Processes() {
			if strings.HasPrefix(p.Dir, l.Machines+"/") {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// note records the client URLs of the nodes.
func (l *lab) note() {
	for key, n := range l.Nodes {
		if n.Name != "" {
			key = n.Name
		}
		l.urls[key] = n.Client
	}
}

// try makes an attempt under writes. Afterwards the plan is empty, the members
// vote, and no write is lost; or everything is destroyed.
func (l *lab) try(a attempt) {
	l.t.Helper()
	w := etcdtest.NewWriter(l.t, l.config(l.members...), etcdtest.WriterOptions{Interval: 50 * time.Millisecond})
	a.run(l)
	if a.gone {
		l.MustBeGone()
		return
	}
	l.Plan().MustBeEmpty()
	l.mustVote(l.members...)
	w.Stop()
	if lost, err := w.Lost(etcdtest.WaitContext(l.t), l.client(l.members...)); err != nil || len(lost) > 0 {
		l.t.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
	}
}

func (l *lab) config(names ...string) clientv3.Config {
	l.note()
	cfg := clientv3.Config{DialTimeout: 2 * time.Second, Logger: zap.NewNop()}
	for _, name := range names {
		cfg.Endpoints = append(cfg.Endpoints, l.urls[name])
	}
	return l.Login(cfg)
}

func (l *lab) client(names ...string) *clientv3.Client {
	l.t.Helper()
	c, err := clientv3.New(l.config(names...))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (l *lab) list() ([]*etcdserverpb.Member, error) {
	l.t.Helper()
	resp, err := l.client(l.members...).MemberList(etcdtest.WaitContext(l.t))
	if err != nil {
		return nil, fmt.Errorf("no member list: %w", err)
	}
	return resp.Members, nil
}

// mustVote is [acctest.Fleet.MustVote], also for nodes under other keys.
func (l *lab) mustVote(want ...string) {
	l.t.Helper()
	members, err := l.list()
	if err != nil {
		l.t.Fatal(err)
	}
	if got := acctest.Summary(members); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		l.t.Fatalf("the members are %v, want %v", got, want)
	}
	for _, name := range want {
		etcdtest.Eventually(l.t, name+" answers a linearizable read", func() error {
			_, err := l.client(name).Get(etcdtest.WaitContext(l.t), "acctest")
			return err
		})
	}
}

// sight is what must not change: the members, and the processes of their
// machines.
type sight struct {
	members   string
	processes map[string]int
}

func (l *lab) see() sight {
	l.t.Helper()
	members, err := l.list()
	if err != nil {
		return sight{members: err.Error()}
	}
	var lines []string
	out := sight{processes: map[string]int{}}
	for _, m := range members {
		lines = append(lines, fmt.Sprintf("%s %x %v learner=%v", m.Name, m.ID, m.PeerURLs, m.IsLearner))
		for _, file := range []string{"supervisor.pid", "etcd.pid"} {
			if m.Name != "" {
				out.processes[m.Name+" "+file] = l.PID(m.Name, file)
			}
		}
	}
	slices.Sort(lines)
	out.members = strings.Join(lines, "; ")
	return out
}

// mustSee fails the test unless nothing has changed.
func (l *lab) mustSee(before sight) {
	l.t.Helper()
	now := l.see()
	if now.members != before.members {
		l.t.Fatalf("the members were\n%s\nand are\n%s", before.members, now.members)
	}
	if !maps.Equal(now.processes, before.processes) {
		l.t.Fatalf("the processes were %v, and are %v", before.processes, now.processes)
	}
}

// broken are words that must not occur in a diagnostic of a provider.
var broken = []string{"inconsistent", "invalid plan", "invalid result", "panic", "plugin did not respond", "plugin crashed", "error in provider"}

// refuse runs apply or destroy with these arguments. It fails the test unless
// the plan is refused, with one error, and nothing is changed.
func (l *lab) refuse(args ...string) acctest.Diagnostic {
	l.t.Helper()
	errors := l.refuseAll(args...)
	if len(errors) != 1 {
		l.t.Errorf("%s: %d errors for one reason, the first: %s", strings.Join(args, " "), len(errors), errors[0])
	}
	return errors[0]
}

// refuseAll is [lab.refuse] for several reasons: there is at most one error for
// each resource.
func (l *lab) refuseAll(args ...string) []acctest.Diagnostic {
	l.t.Helper()
	before := l.see()
	o := l.Start(args...).Wait()
	l.mustBeRefused(o, before)
	errors := o.Errors()
	seen := map[string]bool{}
	for _, e := range errors {
		mustBeComplete(e, l.t)
		if seen[e.Address] {
			l.t.Errorf("%s: more than one error on %s", strings.Join(args, " "), e.Address)
		}
		seen[e.Address] = true
	}
	if l.t.Failed() {
		l.t.Logf("refused with:\n%s", texts(errors))
	}
	return errors
}

// mustBeRefused fails the test unless a run failed before it started any change.
func (l *lab) mustBeRefused(o *acctest.Outcome, before sight) {
	l.t.Helper()
	command := strings.Join(o.Args, " ")
	var begun []string
	for _, h := range o.Hooks {
		if h.Type == "apply_start" {
			begun = append(begun, h.Action+" "+h.Address)
		}
	}
	if o.ExitCode != 1 || len(begun) > 0 {
		now := l.see()
		l.t.Fatalf("%s was not refused at plan: exit code %d, begun:\n  %s\nthe members were\n  %s\nand are\n  %s\nthe processes were %v\nand are %v\n%s",
			command, o.ExitCode, strings.Join(begun, "\n  "), before.members, now.members, before.processes, now.processes, o.Report())
	}
	for _, d := range o.Diagnostics {
		for _, word := range broken {
			if strings.Contains(strings.ToLower(d.Summary+d.Detail), word) {
				l.t.Errorf("%s: %q in %s", command, word, d)
			}
		}
	}
	l.mustSee(before)
}

func texts(diagnostics []acctest.Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// leadOut applies until it succeeds. After each failure, it checks that nothing
// has changed, and follows, for each error, the first command that contains one
// of these texts.
func (l *lab) leadOut(prefixes ...string) {
	l.t.Helper()
	for range 2*l.size + 1 {
		before := l.see()
		o := l.Apply()
		if o.ExitCode == 0 {
			return
		}
		l.mustSee(before)
		for _, e := range o.Errors() {
			prefix := ""
			for _, p := range prefixes {
				if prefix == "" && slices.ContainsFunc(commandsIn(e), func(c string) bool { return strings.Contains(c, p) }) {
					prefix = p
				}
			}
			if prefix == "" {
				l.t.Fatalf("no command begins with any of %q:\n%s", prefixes, e)
			}
			l.follow(e, prefix, resourceOf(e.Address)).MustSucceed()
		}
	}
	l.t.Fatalf("what the refusals say does not lead out")
}

// resourceOf returns the type of the resource at an address.
func resourceOf(address string) string {
	for _, r := range []string{"etcd_member_config", "etcd_member", "etcd_learner"} {
		if strings.Contains("."+address, "."+r+".") {
			return r
		}
	}
	return address
}

// trigger changes triggers_replace of the configurations of these nodes until
// undo is called.
func (l *lab) trigger(names ...string) (undo func()) {
	was := map[string]string{}
	for _, name := range names {
		was[name] = l.Nodes[name].Config
		l.Nodes[name].Config = was[name] + " and another"
	}
	return func() {
		for name, config := range was {
			l.Nodes[name].Config = config
		}
	}
}

// replaceOne follows the command that every refusal of a second replacement
// prints: it replaces only one configuration.
func (l *lab) replaceOne(d acctest.Diagnostic) {
	l.t.Helper()
	l.follow(d, "terraform apply -replace=", "etcd_member_config").MustSucceed()
}
