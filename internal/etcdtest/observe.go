// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Running reports whether etcd itself runs, frozen or not; a pre-start command
// does not count.
func (p *Process) Running() bool { return p.PID() != 0 }

// PID returns the process ID of etcd, 0 if it does not run.
func (p *Process) PID() int {
	if r := p.currentRun(); r != nil {
		return r.pid()
	}
	return 0
}

// ExitCode returns the code that etcd, or its pre-start command, last exited
// with; -1 if it was ended by a signal (etcd ends itself by SIGTERM when it
// was sent one) or has never exited.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitCode
}

// Exits returns how many starts have come to an end, be it that etcd or its
// pre-start command exited.
func (p *Process) Exits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// Starts returns how many times etcd itself was started.
func (p *Process) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Attempts returns how many times a start was tried, those included that a
// pre-start command ended.
func (p *Process) Attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts
}

// Log returns what the process and its pre-start command wrote to standard
// output and standard error, over all starts: the first 256 KiB and the last
// MiB at least. (The pre-start command's standard output is shown as well.)
func (p *Process) Log() string { return p.log.String() }

// WaitExit waits until the process has ended and is not going to be started
// again by a supervisor, and returns its exit code as [Process.ExitCode] does.
func (p *Process) WaitExit(ctx context.Context) (int, error) {
	if r := p.currentRun(); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
			return 0, fmt.Errorf("%s has not ended: %w", p.Name, context.Cause(ctx))
		}
	}
	return p.ExitCode(), nil
}

// WaitLog waits until text occurs in the log.
func (p *Process) WaitLog(ctx context.Context, text string) error {
	err := poll(ctx, 20*time.Millisecond, func(context.Context) error {
		if !p.log.contains(text) {
			return errors.New("not in the log")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %q: %w", p.Name, text, err)
	}
	return nil
}
