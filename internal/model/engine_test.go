// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// walk is the model in the role of the cluster of a real engine. Each call of
// the engine must be a possible next step of the model. The model then makes
// this step, and its result is the answer. Between two calls, any event can
// happen that the model allows.
type walk struct {
	cluster.Cluster // AddFallbackEndpoints is never called
	t               *testing.T
	m               *machinery
	s               state
	random          *rand.Rand
	now             time.Time
	cancel          context.CancelFunc
	log             []string
	calls           int
	// mayFail: at the latest step, the operation could also fail in the model.
	mayFail bool
	// loose is the next call that belongs to the previous step.
	loose string
}

type outcome struct {
	st   step
	next state
}

// successors returns the possible steps: those of the operation, or those of
// the environment.
func (w *walk) successors(own bool) (out []outcome) {
	w.m.emit = func(st step, s state, wrong string) {
		if wrong != "" {
			w.t.Errorf("%s\n%v", wrong, w.log)
		}
		out = append(out, outcome{st, s})
	}
	if own {
		w.m.operation(&w.s, 0)
	} else {
		w.m.environment(&w.s)
	}
	return out
}

// pass lets events happen before a call.
func (w *walk) pass() {
	if w.calls++; w.calls > 2000 {
		w.cancel()
	}
	for w.random.IntN(3) == 0 {
		if all := w.successors(false); len(all) > 0 {
			o := all[w.random.IntN(len(all))]
			w.s = o.next
			w.note(o.st)
		}
	}
	if r := &w.s.tasks[0]; r.pc == idle || r.pc == jLock || r.pc == lLock || r.pc == wLock {
		for _, o := range w.successors(true) {
			w.s = o.next
			w.note(o.st)
		}
		if w.s.tasks[0].pc == jLock || w.s.tasks[0].pc == lLock {
			for _, o := range w.successors(true) {
				w.s = o.next
			}
		}
	}
}

func (w *walk) note(st step) { w.log = append(w.log, "\n  "+(&search{sc: *w.m.sc}).say(st)) }

// settle decides the outcome of a change in transit.
func (w *walk) settle() {
	for w.s.pending.what != noChange {
		all := w.successors(false)
		o := all[w.random.IntN(len(all))]
		if o.next.pending.what == noChange {
			w.s = o.next
			w.note(o.st)
		}
	}
}

// call handles a call of the engine: the model must be at one of those steps.
// It returns false if the call gets no answer.
func (w *walk) call(name string, at ...pc) bool {
	w.t.Helper()
	w.log = append(w.log, "\n  engine: "+name)
	here := w.s.tasks[0].pc
	right := false
	for _, p := range at {
		right = right || p == here
	}
	if !right {
		w.t.Errorf("the engine calls %s, and the model is at step %d%v", name, here, w.log)
		w.cancel()
		return false
	}
	if w.s.led() && (here.sends() || here == jSureAdd || here == jSureUndo || here == jSureVote || here == lSure || here == wSure || here == lForget || here == jAnnounced || here == jRan) {
		w.settle() // entries in the log precede this write
	}
	var ways []outcome
	w.mayFail = false
	for _, o := range w.successors(true) {
		if o.next.tasks[0].pc == failed {
			w.mayFail = true
		} else {
			ways = append(ways, o)
		}
	}
	if len(ways) == 0 {
		return w.s.led()
	}
	before := w.s.left.ambiguous
	led := w.s.led()
	o := ways[w.random.IntN(len(ways))]
	w.s = o.next
	w.note(o.st)
	return led && w.s.left.ambiguous == before
}

// snapshot returns a snapshot of the state with one more log entry than the
// last observation had: the record is written in between.
func (w *walk) snapshot() membership.Snapshot {
	snap := w.s.snapshot()
	for id, a := range snap.Answers {
		a.Index += uint64(w.calls)
		if a.Applied > 0 {
			a.Applied += uint64(w.calls)
		}
		snap.Answers[id] = a
	}
	return snap
}

func (w *walk) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	if w.loose == "look" || w.m.sc.tasks[0].kind == join && w.calls == 0 {
		w.loose = ""
		w.calls++
		return w.snapshot(), nil
	}
	w.pass()
	snap := w.snapshot()
	w.call("Observe", jLook, jWatch, lLook, wLook)
	return snap, nil
}

func (w *walk) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	if w.s.tasks[0].pc != jMembers {
		return w.s.snapshot().Members, clusterID, nil
	}
	w.pass()
	members := w.s.snapshot().Members
	if !w.call("Members", jMembers) {
		return nil, 0, cluster.ErrAmbiguous
	}
	return members, clusterID, nil
}

// Evidence is asked after a removal that the cluster could not decide. Nothing in the
// model states that the cluster is lost.
func (w *walk) Evidence(context.Context, membership.ClusterID) membership.Evidence {
	return membership.Evidence{}
}

func (w *walk) Ask(_ context.Context, m membership.Member, _ membership.ClusterID) membership.Answer {
	return w.s.snapshot().Answer(m.ID)
}

// change handles a call that changes the membership. via must be the leader at
// the time of the decision: a promotion through a follower fails with
// authentication on before 3.5.28 and 3.6.6 (etcd-io/etcd#20757).
func (w *walk) change(name string, via membership.MemberID, at ...pc) error {
	if n, _ := nodeOf(via); n != w.s.tasks[0].leader {
		w.t.Errorf("%s is sent to %s, and %s leads%v", name, nameOf(n), nameOf(w.s.tasks[0].leader), w.log)
	}
	w.pass()
	had := len(w.log)
	answered := w.call(name, at...)
	for _, line := range w.log[had:] {
		if len(line) > 14 && line[len(line)-14:] == "and is refused" {
			return cluster.ErrUnhealthy
		}
	}
	if !answered {
		return cluster.ErrAmbiguous
	}
	return nil
}

func (w *walk) AddLearner(_ context.Context, via membership.MemberID, _ []string) (membership.MemberID, error) {
	err := w.change("AddLearner", via, jAdd)
	n := w.m.sc.tasks[0].node
	return idOf(n, w.s.nodes[n].gen), err
}

func (w *walk) Promote(_ context.Context, via, _ membership.MemberID) error {
	return w.change("Promote", via, jPromote)
}

func (w *walk) Remove(_ context.Context, via, _ membership.MemberID) error {
	return w.change("Remove", via, lRemove, jUndo)
}

func (w *walk) MoveLeader(_ context.Context, leader, to membership.MemberID) error {
	if n, _ := nodeOf(to); n != w.s.tasks[0].to {
		w.t.Errorf("leadership goes to %s, not %s", nameOf(n), nameOf(w.s.tasks[0].to))
	}
	return w.change("MoveLeader", leader, lMove)
}

// Now and Sleep implement a clock.
func (w *walk) Now() time.Time { return w.now }

func (w *walk) Sleep(ctx context.Context, d time.Duration) error {
	w.now = w.now.Add(d)
	return ctx.Err()
}

// Acquire, Check and the rest implement a lock.
func (w *walk) Acquire(_ context.Context, id membership.ClusterID, _ string, _ func(claim.Holder)) (claim.Hold, error) {
	w.mustBeKnown(id)
	w.pass()
	if w.s.claim == orphaned { // the engine waits until it expires
		w.s.claim = 0
	}
	if !w.call("Acquire", jSureUndo, jSureAdd, jSureVote, lSure, wSure) {
		return nil, cluster.ErrAmbiguous
	}
	return w, nil
}

func (w *walk) Check(context.Context) error {
	if w.s.tasks[0].pc.sends() {
		return nil // it was checked, and nothing was sent since
	}
	w.pass()
	w.call("Check", jSureUndo, jSureAdd, jSureVote, lSure, wSure)
	return nil
}

func (w *walk) Lost() <-chan struct{}      { return nil }
func (w *walk) Err() error                 { return nil }
func (w *walk) Stop(context.Context) error { return nil }

// TestEngineTakesTheSteps walks the real engine through the model, many times
// and at random. The engine makes only the calls of the searches, in the same
// order, and ends where they end.
func TestEngineTakesTheSteps(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	each := 15
	if full() {
		each = 150
	}
	walks, calls, ends, errs := 0, 0, 0, 0
	for _, sc := range append(scenarios(budget{faults: 1, ambiguous: 2}, orderly), backstops()...) {
		sc.tasks = sc.tasks[:1]
		for range each {
			w, err := stroll(t, &sc, random)
			walks, calls = walks+1, calls+w.calls
			if err == nil {
				ends++
			} else {
				errs++
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d walks, %d calls, %d ended well, %d with an error", walks, calls, ends, errs)
	if ends == 0 || errs == 0 {
		t.Error("every walk ended the same way")
	}
}

// backstops returns scenarios that begin with an interrupted join whose
// addition is in transit.
func backstops() (out []scenario) {
	for n := range uint8(maxNodes - 1) {
		out = append(out, scenario{
			name: "backstop", voters: n + 1, options: orderly, budget: budget{faults: 1, ambiguous: 1}, parallel: [maxProcs]uint8{1, 1},
			tasks: []task{{kind: withdraw, node: n + 1, after: none, insteadOf: none}},
		})
	}
	return out
}

// stroll runs one walk of the engine through the model.
func stroll(t *testing.T, sc *scenario, random *rand.Rand) (*walk, error) {
	begin := sc.begin()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &walk{t: t, random: random, cancel: cancel, now: time.Unix(0, 0)}
	w.m = &machinery{sc: sc, mind: &mind{rules: theRules, known: map[question]answer{}}}
	w.s = begin[random.IntN(len(begin))]
	e := &reconfigure.Engine{Cluster: w, Process: &reconfigure.ProcessState{}, Clock: w, Locker: w}
	task := sc.tasks[0]
	var err error
	switch task.kind {
	case join:
		_, err = e.Join(ctx, reconfigure.JoinRequest{
			Owner: "o", Name: nameOf(task.node), PeerURLs: []string{urlOf(task.node)}, Goal: reconfigure.Voting, Configured: true,
		})
	case leave:
		_, err = e.Leave(ctx, reconfigure.LeaveRequest{
			Owner: "o", KeepRecord: task.replacement, ID: idOf(task.node, 0), Cluster: clusterID,
			Name: nameOf(task.node), PeerURLs: []string{urlOf(task.node)}, Replacement: task.replacement,
		})
	default:
		w.s.records[0] = record{state: intended, node: task.node}
		w.s.pending = change{what: addLearner, node: task.node, gen: 1}
		w.s.nodes[task.node].machine = knocking
		_, err = e.Withdraw(ctx, reconfigure.WithdrawRequest{Owner: "o", Name: nameOf(task.node), PeerURLs: []string{urlOf(task.node)}})
	}
	switch {
	case err == nil && w.s.tasks[0].pc == lForget && ctx.Err() != nil: // the record could not be read or written
	case err == nil && w.s.tasks[0].pc != done:
		t.Errorf("%s: the engine is done, the model at step %d%v", sc.name, w.s.tasks[0].pc, w.log)
	case err != nil && ctx.Err() == nil && !w.mayFail:
		t.Errorf("%s: the engine fails (%v), and the model does not%v", sc.name, err, w.log)
	}
	return w, err
}
