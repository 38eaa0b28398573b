// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const (
	// firstPoll and slowPoll limit the pause between two observations: a join that
	// is ready immediately takes no noticeable pause, and a join that takes minutes
	// causes no noticeable load. In between, a pause is about an eighth of the time
	// waited so far, so that no wait lasts much longer than necessary. After 25 s it
	// is a fiftieth of that time, up to longPoll: a machine may boot for minutes.
	firstPoll = 10 * time.Millisecond
	slowPoll  = 500 * time.Millisecond
	longPoll  = 5 * time.Second
	// healthInterval is how long a refusal must hold before it is believed, from
	// the observation that first showed it to a later one: restarts of members and
	// a change of leader are over within it. One observation is not enough, even if
	// it takes longer than that: it waits for a machine that stands still. It is
	// etcd's own HealthInterval, during which etcd refuses changes after a
	// start (etcd-io/etcd#6305).
	healthInterval = 5 * time.Second
	// logEvery is the time between two log lines about the same reason to wait.
	logEvery = 10 * time.Second
)

// next is what follows a failed step of an operation.
type next uint8

const (
	// stop: the operation fails with the error.
	stop next = iota
	// retry: another step follows, as long as there is time.
	retry
	// retryBriefly: another step follows, until the error has held for
	// [healthInterval].
	retryBriefly
	// retryNow: there was progress, and another step follows without delay.
	retryNow
	// retryUnpaused: a lock was taken or a record written, and another step follows
	// immediately. It was no progress: the pause after the step is as long as it would have
	// been.
	retryUnpaused
)

// outcome is the error of a step that also says what follows.
type outcome struct {
	next  next
	cause error
	// keep is true if the lock must be kept in the meantime.
	keep bool
}

// Error implements error.
func (o outcome) Error() string { return o.cause.Error() }

// Unwrap returns why the step did not end the operation.
func (o outcome) Unwrap() error { return o.cause }

// note is a reason to observe again that is not an answer of the cluster.
type note string

// Error implements error.
func (n note) Error() string { return string(n) }

// stopping ends the operation, whatever the kind of the error.
func stopping(cause error) error { return outcome{next: stop, cause: cause} }

// retrying requests another step, whatever the kind of the error.
func retrying(cause error) error { return outcome{next: retry, cause: cause} }

// retryingBriefly requests another step until the error has held for [healthInterval],
// unless waiting cannot help.
func retryingBriefly(cause error) error {
	if unrecoverable(cause) || codeOf(cause).Permanent() {
		return stopping(cause)
	}
	return outcome{next: retryBriefly, cause: cause}
}

// sent returns the outcome of a change that was sent. Whatever the answer, the
// change may have been made, unless the user lacks the permission or the
// servers cannot make it: the next observation tells.
func sent(err error, done note) error {
	switch {
	case err == nil:
		return outcome{next: retryNow, cause: done, keep: true}
	case errors.Is(err, cluster.ErrPermission), errors.Is(err, cluster.ErrBadURL):
		return err
	}
	return outcome{next: retry, cause: err, keep: true}
}

// classify returns what follows an error: the outcome of the step if it has
// one, or else the default for the kind of error. A decision to wait is tried
// again. A refusal is doubted unless it is permanent. A change or read whose
// outcome is not known, and endpoints that do not answer now, are tried again.
func classify(err error) outcome {
	if o, ok := errors.AsType[outcome](err); ok {
		return o
	}
	o := outcome{cause: err}
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case unrecoverable(err):
		o.next = stop
	case refused && refusal.Decision.Verdict == membership.Wait:
		o.next = retry
	case refused && !refusal.Decision.Code.Permanent():
		o.next = retryBriefly
	case !refused && (isUnreachable(err) || errors.Is(err, cluster.ErrAmbiguous)):
		o.next = retry
	}
	return o
}

// unrecoverable reports whether waiting does not help: the credentials or
// certificates are wrong, the cluster is another one, or what it has on record
// cannot be read.
func unrecoverable(err error) bool {
	return errors.As(err, new(*OtherCluster)) || errors.As(err, new(*cluster.Malformed)) || cluster.Hopeless(err)
}

func isUnreachable(err error) bool { return errors.As(err, new(*connection.Unreachable)) }

// codeOf returns the code of a refusal, "" for another error.
func codeOf(err error) membership.Code {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.Decision.Code
	}
	return ""
}

// repeat takes steps until a step succeeds, or fails without a step to follow,
// or ctx ends. If ctx ends, the error is that of the last step that ctx did not
// cut short; an interruption is returned as such.
func (e *Engine) repeat(ctx context.Context, action Action, name string, step func() error) error {
	var last, answer error // answer is the last error that is not a note
	var told time.Time
	var doubt streak
	pause, since := firstPoll, e.Clock.Now()
	for {
		err := step()
		if err == nil {
			return nil
		}
		_, explicit := errors.AsType[outcome](err)
		o := classify(err)
		now := e.Clock.Now()
		if ctx.Err() != nil && (!explicit || o.next != stop) {
			return timedOut(ctx, o.cause, answer)
		}
		switch {
		case o.next == stop, o.next == retryBriefly && doubt.lasts(now) > healthInterval:
			log.Debug(ctx, log.Membership, "operation failed", "action", action, "member", name, "reason", o.cause)
			return o.cause
		case o.next == retryNow:
			doubt, pause, since = streak{}, firstPoll, now
		case o.next != retryBriefly:
			doubt = streak{}
		}
		if last == nil || last.Error() != o.cause.Error() || now.Sub(told) >= logEvery {
			log.Debug(ctx, log.Membership, "observing again", "action", action, "member", name, "reason", o.cause)
			told = now
		}
		if last = o.cause; o.next != retryUnpaused {
			if e.Clock.Sleep(ctx, pause) != nil {
				return timedOut(ctx, last, answer)
			}
			pause = min(pause*9/8, max(slowPoll, now.Sub(since)/50), longPoll)
		}
		if !errors.As(last, new(note)) {
			answer = last
		}
	}
}

// timedOut returns the error of an operation whose time ran out in a step or
// after it. If err is not a decision, the answer before it is the reason,
// because a step that was cut short says nothing.
func timedOut(ctx context.Context, err, answer error) error {
	if answer != nil && !errors.As(err, new(*Refusal)) {
		err = answer
	}
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled), errors.As(err, new(note)):
		return ctx.Err()
	case refused:
		refusal.Timeout = true
	}
	return err
}

// streak measures how long the same answer was given without interruption. It
// begins with the first answer: what came before, such as a wait for a lock, does
// not count. The zero value has not begun.
type streak struct{ since time.Time }

// lasts notes another answer, and returns the time since the first one.
func (s *streak) lasts(now time.Time) time.Duration {
	if s.since.IsZero() {
		s.since = now
	}
	return now.Sub(s.since)
}
