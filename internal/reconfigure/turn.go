// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// gather is how long members that are to take turns wait for each other, so that
// they go in order of name.
const gather = 250 * time.Millisecond

// leaveInTurn waits for the member's turn, where it is to wait, and takes it
// out. Of several that wait for the same one, all but one wait again.
func (e *Engine) leaveInTurn(ctx context.Context, r LeaveRequest) (Left, error) {
	for {
		if r.TurnTimeout > 0 {
			if err := e.awaitTurn(ctx, r); err != nil {
				return Left{}, err
			}
		}
		out, err := e.leaveNow(ctx, r)
		var refusal *Refusal
		if r.TurnTimeout == 0 || !errors.As(err, &refusal) || refusal.Decision.Code != membership.TurnOfAnother {
			return out, err
		}
	}
}

// leaveNow takes the member out within the time that it has for that.
func (e *Engine) leaveNow(ctx context.Context, r LeaveRequest) (Left, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	defer e.Board.leave(r.ID)()
	l := &leave{Engine: e, req: r, since: e.Clock.Now()}
	return l.run(ctx)
}

// awaitTurn returns when no other replacement is on record that is not over. It
// holds no lock, because what it waits for needs it. The time it has is counted
// from the last sign that the others get on: another turn, or a join that this
// process is at. The error is a [*Refusal] that says whose turn it was.
func (e *Engine) awaitTurn(ctx context.Context, r LeaveRequest) error {
	defer e.Board.queue(r.ID, r.Name)()
	// The others of this run queue up as well, and go in order of name.
	if err := e.Clock.Sleep(ctx, gather); err != nil {
		return err
	}
	last, sign := "", e.Clock.Now()
	var pause backoff
	for {
		snap, err := e.observe(ctx, r.Cluster)
		var turns []membership.Turn
		if err == nil {
			turns, err = e.Port.Turns().List(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && hopeless(err) {
			return err
		}
		if err == nil {
			d := membership.DecideRemove(snap, membership.RemoveRequest{ID: r.ID, Replacement: true, Turns: turns})
			now := e.Clock.Now()
			switch {
			case d.Code != membership.TurnOfAnother && (e.Board.isFirst(r.ID) || now.Sub(sign) > r.TurnTimeout):
				return nil
			case d.Code == membership.TurnOfAnother && e.inVain(d.Facts.Turns):
				return &Refusal{Action: "remove", Name: r.Name, Decision: d, Snapshot: snap}
			}
			if at := fmt.Sprint(d.Facts.Turns); at != last || e.Board.isJoining() {
				last, sign = at, now
			}
			if d.Code == membership.TurnOfAnother && now.Sub(sign) > r.TurnTimeout {
				return &Refusal{Action: "remove", Name: r.Name, Decision: d, Snapshot: snap, Timeout: true}
			}
		} else if e.Clock.Now().Sub(sign) > r.TurnTimeout {
			return err
		}
		if err := pause.sleep(ctx, e.Clock); err != nil {
			return err
		}
	}
}

// inVain reports whether a turn will not be over in this run: this run was at
// the join that would end it, and failed.
func (e *Engine) inVain(turns []membership.Turn) bool {
	return slices.ContainsFunc(turns, func(t membership.Turn) bool { return e.Board.hasFailed(t.Name) })
}

// begin puts on record that the member goes in order to be replaced, right
// before it does; and clears the record of turns that are over. Under a NOSPACE
// alarm nothing can be put on record: then a dead member may go, and one that
// lives stays, because its successor would not be let in.
func (l *leave) begin(ctx context.Context) error {
	m, _ := l.snap.Member(l.req.ID)
	if !l.req.Replacement || m.Learner || l.begun {
		return nil
	}
	if l.hold.unguarded {
		if !l.snap.Alive(m.ID) {
			return nil
		}
		return l.hold.full(l.snap)
	}
	turns := l.Port.Turns()
	t := membership.Turn{Name: l.req.Name, Voters: len(l.snap.Voters()), Since: l.Clock.Now(), By: l.Self}
	if err := turns.Put(ctx, t); err != nil {
		return err
	}
	l.begun = true
	all, err := turns.List(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{t.Name: true}
	for _, o := range l.snap.OpenTurns(all) {
		open[o.Name] = true
	}
	for _, o := range all {
		if !open[o.Name] {
			_ = turns.Delete(ctx, o.Name)
		}
	}
	return nil
}

// endTurn clears the record of a turn whose successor votes. What cannot be
// written is no error: a turn of which a voter of the name lives is over.
func (e *Engine) endTurn(ctx context.Context, name string) {
	_ = e.Port.Turns().Delete(ctx, name)
}

// OpenTurns returns the replacements that are on record and not over; see
// [membership.Snapshot.OpenTurns].
func (e *Engine) OpenTurns(ctx context.Context, snap membership.Snapshot) ([]membership.Turn, error) {
	turns, err := e.Port.Turns().List(ctx)
	return snap.OpenTurns(turns), err
}

// GiveUpTurn clears the record of a turn to which there is to be no successor:
// its configuration, the owner, goes for good.
func (e *Engine) GiveUpTurn(ctx context.Context, owner, name string) {
	if e.Board.isSettled(owner) {
		return // the member itself went, and the record with it
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = e.Port.Turns().Delete(short, name)
}
