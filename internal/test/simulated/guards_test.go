// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// edits is an edit of the configuration.
func edits(how func(s *runner, rest string)) func(*runner, string) {
	return func(s *runner, rest string) {
		how(s, rest)
		s.configure()
	}
}

// outside happens to the nodes of a step. In a judged scenario it happens to a node of a healthy
// cluster only: what it takes away for good would otherwise take the quorum.
func outside(how func(s *runner, name string)) func(*runner, string) {
	return each(func(s *runner, name string) {
		if s.oracle == nil || slices.Contains(s.dir.names, name) && s.bearsLoss() {
			how(s, name)
		}
	})
}

// bearsLoss reports whether the cluster is healthy, and has more than two voters.
func (s *runner) bearsLoss() bool { return len(s.dir.names)-len(s.dir.learners) > 2 && s.healthy() }

func length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err) // it is this package's own
	}
	return d
}

// options are those of a command. Limits: -target of a machine takes all machines along, and
// destroys those that are tainted, or whose node is on its way, without a question to the
// provider, also if another one is lost after the plan. That of a name that is gone goes
// without its member. So does -target of a member, with machines that are tainted or replaced
// besides its own, and if another one is lost after the plan. -target of the cluster forgets its
// node, and if it returns, gives it another. A machine whose member no state has goes without a
// question, too, whatever happens since the plan.
func (s *runner) options(words []string) (out []driver.Option) {
	for _, word := range words {
		target, targets := strings.CutPrefix(word, "-target=")
		does := true
		switch {
		case s.oracle == nil:
		case targets && len(s.dir.machine) > 0: // nothing tells that the machine is another one
			does = false
		case strings.HasPrefix(word, "-replace=machine."):
			does = !s.isExposed(strings.TrimPrefix(word, "-replace="))
		case !targets:
		case target == thisCluster:
			does = s.complete()
		case strings.HasPrefix(target, "machine."):
			replaces := strings.Contains(strings.Join(words, " "), "-replace=machine.")
			does = s.complete() && s.settled() && len(s.tainted)+len(s.fault.between) == 0 &&
				(!replaces || s.bearsLoss())
		default:
			others := func(of string) bool {
				of = strings.TrimPrefix(of, "-replace=")
				return strings.HasPrefix(of, "machine.") && of != machineOf(nodeNamed(target))
			}
			does = len(s.fault.between) == 0 && !slices.ContainsFunc(slices.Concat(s.tainted, words), others)
		}
		if does {
			out = append(out, driver.Option(word))
		}
	}
	return out
}

// isExposed reports whether the member on a machine is in no state, and something may happen between
// the plan of the command and its apply.
func (s *runner) isExposed(machine string) bool {
	name := nodeNamed(machine)
	inState := s.ws.State(memberOf(name)) != nil || s.ws.State(learnerOf(name)) != nil
	return strings.HasPrefix(machine, "machine.") && !inState && (s.together || len(s.fault.between) > 0)
}

// complete reports whether the state has no name that the configuration does not have.
func (s *runner) complete() bool {
	return !slices.ContainsFunc(s.ws.Addresses(), func(address string) bool {
		name := nodeNamed(address)
		return name != "" && !slices.Contains(s.dir.names, name)
	})
}

// settled reports whether all members of the state have the nodes of the etcd_cluster.
func (s *runner) settled() bool {
	o := s.ws.State(thisCluster)
	return o != nil && !slices.ContainsFunc(s.dir.names, func(name string) bool {
		return nodeIDOf(s.ws.State(memberOf(name))) != driver.Attribute(o.Value, "node", name, "id")
	})
}

// formJudged forms the cluster, and lets the oracle look from then on.
func (s *runner) formJudged() {
	s.second.url = etcdsim.PeerURL("g")
	s.configure()
	s.ok(s.up("one"))
	s.rest(time.Minute)
	s.oracle = watch(s.world, s.fleet, "one")
	s.oracle.begin(s.wanted())
	s.network.Lax = true // the servers check nothing
	s.fault.listen(s)
}

func learnerOf(name string) string { return `etcd_learner.node["` + name + `"]` }

// add adds a name to the configuration.
func (s *runner) add(name string, learner bool) {
	if slices.Contains(s.dir.names, name) {
		if learner && s.oracle == nil {
			s.dir.learners[name] = true
		}
		return
	}
	if s.ws.State(memberOf(name)) != nil || s.ws.State(learnerOf(name)) != nil {
		learner = s.ws.State(memberOf(name)) == nil // it stays what it is
	}
	s.dir.names = append(s.dir.names, name)
	if delete(s.dir.learners, name); learner {
		s.dir.learners[name] = true
	}
	s.noteNew(name)
}

// drop takes a name out of the configuration. Limits of a judged scenario: the machine of a member
// that the state has forgotten is destroyed without it, and a restored cluster forms with all names.
// A warning says how to remove one.
func (s *runner) drop(name string) {
	if s.oracle == nil || len(s.dir.names) > 1 && !s.forgotten(name) && s.dir.gone == nil {
		s.dir.names = s.without(name)
	}
}

// forgotten reports whether a name has a voter that the state does not have.
func (s *runner) forgotten(name string) bool {
	m := find(s.cluster.Members(), s.ids()[name])
	return m != nil && !m.IsLearner && s.ws.State(memberOf(name)) == nil && s.ws.State(learnerOf(name)) == nil
}

func (s *runner) without(name string) []string {
	return slices.DeleteFunc(slices.Clone(s.dir.names), func(n string) bool { return n == name })
}

// noteNew says that a new name has no process yet.
func (s *runner) noteNew(name string) {
	if s.oracle != nil && s.fleet.of(name) == nil {
		s.oracle.mark(name, true)
	}
}

func (s *runner) setSecond(image string) {
	if s.second.image = image; image == "" {
		s.setURL(etcdsim.PeerURL("g"))
	}
	s.noteNew("g")
}

// setURL changes the peer URL of g. A machine that is made later listens there.
func (s *runner) setURL(url string) {
	s.second.url = url
	s.fleet.set(func() { s.fleet.urls["g"] = url })
}

// promote is a moved block from etcd_learner to etcd_member.
func (s *runner) promote(name string) {
	if !s.dir.learners[name] || !slices.Contains(s.dir.names, name) {
		return
	}
	from, to := learnerOf(name), memberOf(name)
	if s.ws.State(from) != nil {
		s.command("", func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
			return nil, s.ws.Move(ctx, s.start(s.runName("moved")), from, to)
		})
		if s.ws.State(to) == nil {
			return // it was killed
		}
	}
	delete(s.dir.learners, name)
}

// begin begins a command. What it returns ends it: in a judged scenario faults meet the command, and
// what is left of it is judged.
func (s *runner) begin() (ctx context.Context, end func(driver.Result)) {
	if s.before = nil; s.cluster != nil {
		s.before = s.cluster.Members()
	}
	if s.oracle == nil {
		return s.Context(), func(driver.Result) {}
	}
	s.commands++
	for _, address := range s.tainted {
		if s.ws.State(address) != nil && s.isExposed(address) {
			s.ws.Untaint(address)
		}
	}
	s.oracle.begin(s.wanted())
	ctx, kill := context.WithCancel(s.Context())
	ctx, interrupt := driver.Interruptible(ctx)
	s.fault.arm(s, kill, interrupt)
	return ctx, func(r driver.Result) {
		kill()
		s.fault.disarm(s)
		for _, left := range uncheckedLine.FindAllStringSubmatch(fmt.Sprint(r), -1) {
			s.unchecked = append(s.unchecked, left[1])
		}
		s.untaint()
		s.ws.Imports, s.together = nil, false
		s.two.Provider = s.secondProvider()
		if !s.lost {
			s.oracle.known(s.ws, "one", r)
		}
		s.writeKey()
		s.second.backup.judge(s)
	}
}

// runName is the name of a run of the first directory: the oracle knows it by one name.
func (s *runner) runName(name string) string {
	if s.oracle == nil {
		return name
	}
	return "one"
}

// untaint withdraws what the last command has not replaced.
func (s *runner) untaint() {
	for _, address := range s.tainted {
		if s.ws.State(address) != nil {
			s.ws.Untaint(address)
		}
	}
	s.tainted = nil
}

// apply makes a plan and carries it out.
func (s *runner) apply(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result) {
	plan, r := s.ws.Plan(ctx, s.start(s.runName("apply")), opts...)
	if plan != nil {
		r.Diagnostics = append(r.Diagnostics, s.carryOut(ctx, plan, opts).Diagnostics...)
	}
	return plan, r
}

// carryOut carries out a plan. A judged cluster that serves is not given up by it.
func (s *runner) carryOut(ctx context.Context, plan *driver.Plan, opts []driver.Option) driver.Result {
	if s.oracle == nil {
		return s.ws.Apply(ctx, s.start("apply"), plan)
	}
	s.fault.planned(s)
	stale := slices.Contains(opts, driver.NoRefresh)
	s.oracle.locked(func() { s.oracle.stale = stale }) // it plans what it knew
	served := s.oracle.serves() && s.fault.silence != "silence"
	nodes, followed := s.nodeIDs()
	was := driver.Attribute(s.ws.State(thisCluster).Value, "cluster_id")
	r := s.ws.Apply(ctx, s.start("one"), plan)
	if is := driver.Attribute(s.ws.State(thisCluster).Value, "cluster_id"); served && is != was {
		s.oracle.wrong("one", "cluster %s serves, and was given up for %s", was, is)
	} else if is == was && !stale {
		s.rebuiltFrom(nodes, followed)
	}
	return r
}

// nodeIDs are the IDs of the nodes in the state, by name, and those that the members have.
func (s *runner) nodeIDs() (nodes, followed map[string]string) {
	nodes, followed = map[string]string{}, map[string]string{}
	for _, name := range s.dir.names {
		nodes[name] = driver.Attribute(s.ws.State(thisCluster).Value, "node", name, "id")
		followed[name] = nodeIDOf(s.ws.State(memberOf(name)))
	}
	return nodes, followed
}

// rebuiltFrom judges the nodes that have other IDs than before, but for those that are again
// what their members have.
func (s *runner) rebuiltFrom(before, followed map[string]string) {
	nodes, _ := s.nodeIDs()
	for name, id := range nodes {
		if was := before[name]; was != "" && was != id && followed[name] != id {
			s.oracle.rebuilds(name)
		}
	}
}

// applyBeside applies this directory and another one at the same time.
func (s *runner) applyBeside(name, rest string) {
	s.together = true
	s.command(rest, func(ctx context.Context, opts []driver.Option) (plan *driver.Plan, r driver.Result) {
		other := s.two
		switch {
		case s.oracle == nil:
			other = s.directories[name].ws
		case name == "clone":
			other = s.ws.Clone()
		}
		var all sync.WaitGroup
		s.commands++
		all.Go(func() { plan, r = s.apply(ctx, opts) })
		all.Go(func() {
			if _, theirs := other.Up(s.Context(), s.start(name)); s.oracle == nil {
				s.ok(theirs)
			}
		})
		all.Wait()
		return plan, r
	})
}

// destroy destroys the first directory after the second. What is left is empty, or named.
func (s *runner) destroy() {
	s.setSecond("")
	s.configure()
	s.run("in two apply")
	s.lost = true
	s.command("", func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
		s.oracle.ending = true
		for _, m := range s.cluster.Members() {
			if s.forgotten(nodeOf(m)) { // its machine is destroyed without it
				s.oracle.release(m.ID)
			}
		}
		plan, r := s.ws.Up(ctx, s.start("one"), driver.Destroy)
		if plan == nil { // its ordinary plan was refused
			_, r = s.ws.Up(ctx, s.start("one"), driver.Destroy, driver.NoRefresh)
		}
		s.two.Up(ctx, s.start("two")) // if it was refused, g is the last one now
		s.oracle.ending = false
		if left := s.ws.Addresses(); r.Err() == nil && len(left) > 0 {
			s.oracle.wrong("one", "%v is left after the destruction", left)
		}
		return plan, r
	})
}

// forgetAt lets the state forget an address.
func (s *runner) forgetAt(address string) {
	switch {
	case s.oracle == nil:
		s.ws.Forget(address)
	case s.ws.State(address) != nil:
		s.ws.Forget(address)
		s.oracle.release(s.ids()[nodeNamed(address)])
	}
}

// importable reports whether an address can be imported. In a judged scenario that is one of a name
// with a member that no state has. It gives the provider the endpoints that an import needs there.
func (s *runner) importable(address string) bool {
	if s.oracle == nil {
		return true
	}
	name := nodeNamed(address)
	ours := !strings.HasPrefix(s.oracle.owners[s.ids()[name]], "etcdctl")
	is := ours && s.ws.State(memberOf(name)) == nil && !s.dir.learners[name] && slices.Contains(s.dir.names, name)
	if is {
		s.ws.Provider = s.provider(strings.Join(s.dir.names, " "))
	}
	return is
}

// older puts a state back that was kept. What it does not have is not ours any more. Limit of a
// judged scenario: it has the machines of today, since what an older one has of another machine
// leads to none that the user data of today fit.
func (s *runner) older(kept driver.Backup) {
	if s.oracle == nil {
		s.ws.Restore(kept)
		return
	}
	now, machines, had := s.ws.Backup(), s.machineIDs(), s.ws.Addresses()
	if s.ws.Restore(kept); !slices.Equal(machines, s.machineIDs()) {
		s.ws.Restore(now)
		return
	}
	for _, address := range had {
		if id := s.ids()[nodeNamed(address)]; s.ws.State(address) == nil && id != 0 {
			s.oracle.release(id)
		}
	}
}

// machineIDs are the IDs of the machines in the state.
func (s *runner) machineIDs() (out []string) {
	for _, address := range s.ws.Addresses() {
		if strings.HasPrefix(address, "machine.") {
			out = append(out, driver.Attribute(s.ws.State(address).Value, "id"))
		}
	}
	return out
}

// addLearnerByHand adds a learner with etcdctl, at the peer URL of a node that may come later.
func (s *runner) addLearnerByHand(name string) {
	if slices.Contains(s.dir.names, name) || !s.healthy() {
		return
	}
	s.byHand("add "+name, func(c *clientv3.Client) error {
		_, err := c.MemberAddAsLearner(s.Context(), []string{etcdsim.PeerURL(name)})
		return err
	})
}

// voteByHand promotes a learner with etcdctl.
func (s *runner) voteByHand(name string) {
	m := find(s.cluster.Members(), s.ids()[name])
	if m == nil || !m.IsLearner || !s.healthy() {
		return
	}
	s.byHand("promote "+name, func(c *clientv3.Client) error {
		_, err := c.MemberPromote(s.Context(), m.ID)
		s.voted[m.ID] = s.voted[m.ID] || err == nil
		return err
	})
}

// withdrawByHand removes what was added by hand.
func (s *runner) withdrawByHand() {
	for _, m := range s.cluster.Members() {
		if !strings.HasPrefix(s.oracle.owners[m.ID], "etcdctl") {
			continue
		}
		s.byHand("remove", func(c *clientv3.Client) error { _, err := c.MemberRemove(s.Context(), m.ID); return err })
	}
}

// byHand asks the members one after the other, until one answers.
func (s *runner) byHand(what string, do func(c *clientv3.Client) error) {
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		err := do(s.client(name))
		if err == nil {
			return
		}
		s.Logf("%s at %s: %v", what, name, err)
	}
}

func (s *runner) removeByHand(name string) {
	if id := s.ids()[name]; id != 0 &&
		!slices.ContainsFunc(s.dir.names, s.forgotten) { // whose machines go without them
		s.byHand("remove "+name,
			func(c *clientv3.Client) error { _, err := c.MemberRemove(s.Context(), id); return err })
	}
}

// etcdctlBy runs a command of etcdctl. Members are named in place of their IDs and peer URLs; an
// added one is a learner.
func (s *runner) etcdctlBy(words []string) {
	s.Helper()
	last := words[len(words)-1]
	switch command := strings.Join(words[:2], " "); {
	case command == "member add" && s.oracle != nil:
		s.addLearnerByHand(last)
	case command == "member add":
		s.addByHand(last)
	case command == "member remove" && s.oracle != nil:
		if slices.Contains(s.dir.names, last) && s.bearsLoss() {
			s.removeByHand(last)
		}
	case command == "member remove":
		for _, m := range s.cluster.Members() {
			if m.Name == last || last == "learners" && m.IsLearner || last == "unstarted" && len(m.ClientURLs) == 0 {
				s.must(errOf(s.client(cmp.Or(s.via, "a")).MemberRemove(s.Context(), m.ID)))
			}
		}
		s.rest(time.Minute)
	case command == "member promote" && s.oracle != nil:
		s.voteByHand(last)
	case command == "member promote":
		s.must(errOf(s.client(cmp.Or(s.via, "a")).MemberPromote(s.Context(), s.ids()[last])))
	case command == "member update":
		s.must(errOf(s.client("a").MemberUpdate(s.Context(), s.ids()[words[2]], []string{last})))
	case words[0] == "put":
		s.must(errOf(s.client("a").Put(s.Context(), words[1], strings.Join(words[2:], " "))))
	case command == "downgrade enable":
		s.must(errOf(s.client("a").Downgrade(s.Context(), clientv3.DowngradeEnable, last)))
	default:
		s.etcdctl("etcdctl " + strings.Join(words, " "))
	}
}
