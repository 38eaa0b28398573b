// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// How long an operation continues with each kind of error, and with which error
// it ends by itself or when an hour is over.
func TestRepeat(t *testing.T) {
	refused := func(v membership.Verdict, c membership.Code) *Refusal {
		return &Refusal{Action: ActionAdd, Decision: membership.Decision{Verdict: v, Code: c}}
	}
	const soonEnough, short, hour = 0, healthInterval, time.Hour
	unknown := errors.New("unknown")
	for name, tt := range map[string]struct {
		err   error
		takes time.Duration
		late  bool // it ends by the timeout
	}{
		"an error of no known kind":       {err: unknown, takes: soonEnough},
		"another cluster":                 {err: &OtherCluster{}, takes: soonEnough},
		"an outcome that is not known":    {err: fmt.Errorf("%w: lost", cluster.ErrAmbiguous), takes: hour, late: true},
		"a decision to wait":              {err: refused(membership.Wait, membership.NoLeader), takes: hour, late: true},
		"a refusal that may pass":         {err: refused(membership.Refuse, membership.QuorumLost), takes: short},
		"a refusal for good":              {err: refused(membership.Refuse, membership.NameTaken), takes: soonEnough},
		"a refusal for good, in doubt":    {err: doubting(refused(membership.Refuse, membership.NameTaken)), takes: soonEnough},
		"a decision to wait, in doubt":    {err: doubting(refused(membership.Wait, membership.NoLeader)), takes: short},
		"any error, in doubt":             {err: doubting(unknown), takes: short},
		"any error, to be tried again":    {err: retrying(unknown), takes: hour, late: true},
		"an unknown outcome, final":       {err: stopping(cluster.ErrAmbiguous), takes: soonEnough},
		"a change that was sent":          {err: sent(nil, "sent"), takes: hour, late: true},
		"a change that was denied":        {err: sent(cluster.ErrPermission, ""), takes: soonEnough},
		"a change that the servers doubt": {err: sent(cluster.ErrUnhealthy, ""), takes: hour, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), hour)
				defer cancel()
				begin := time.Now()
				err := (&Engine{Clock: clock.System{}}).repeat(ctx, ActionAdd, "d", func() error { return tt.err })
				if took := time.Since(begin); took < tt.takes || took > tt.takes+2*slowPoll {
					t.Errorf("it took %v, want %v", took, tt.takes)
				}
				if r, ok := errors.AsType[*Refusal](err); ok && r.Timeout != tt.late {
					t.Errorf("late is %v, want %v", r.Timeout, tt.late)
				}
				if errors.As(err, new(outcome)) || errors.As(err, new(note)) || err == nil {
					t.Errorf("got %#v, want the cause", err)
				}
			})
		})
	}
}

// One observation is not enough for a refusal, however long it takes: a machine
// that stands still for longer than a request may take is healthy again in the
// next one. The same holds for the first refusal after a reason to wait.
func TestRepeatDoubtsAfterASlowStep(t *testing.T) {
	doubt := doubting(&Refusal{Decision: membership.Decision{Code: membership.QuorumLost}})
	for name, tt := range map[string]struct {
		errs    []error
		refused bool
	}{
		"once":                    {errs: []error{doubt, nil}},
		"twice":                   {errs: []error{doubt, doubt, nil}, refused: true},
		"after a reason to wait":  {errs: []error{retrying(note("wait")), doubt, nil}},
		"around a reason to wait": {errs: []error{doubt, retrying(note("wait")), doubt, nil}},
		"after a change":          {errs: []error{sent(nil, "sent"), doubt, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := 0
				err := (&Engine{Clock: clock.System{}}).repeat(t.Context(), ActionAdd, "d", func() error {
					time.Sleep(healthInterval + time.Second)
					step++
					return tt.errs[step-1]
				})
				if (err != nil) != tt.refused {
					t.Errorf("got %v after %d observations", err, step)
				}
			})
		})
	}
}

// A step that the timeout cuts short says nothing: the answer before it is the
// error. An interruption is reported as such.
func TestRepeatCutShort(t *testing.T) {
	answer := &Refusal{Decision: membership.Decision{Verdict: membership.Wait, Code: membership.NoLeader}}
	for _, interrupted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if interrupted {
				time.AfterFunc(time.Second, cancel)
			}
			first := true
			err := (&Engine{Clock: clock.System{}}).repeat(ctx, ActionAdd, "d", func() error {
				if first {
					first = false
					return answer
				}
				<-ctx.Done()
				return ctx.Err()
			})
			if interrupted && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the interruption", err)
			}
			if r, ok := errors.AsType[*Refusal](err); !interrupted && (!ok || r != answer || !r.Timeout) {
				t.Errorf("got %v, want the answer before", err)
			}
		})
	}
}
