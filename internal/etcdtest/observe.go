// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// PID returns the process ID of etcd, or 0 if it does not run.
func (p *Process) PID() int {
	if r := p.currentRun(); r != nil {
		return r.pid()
	}
	return 0
}

// Starts returns how many times etcd itself was started.
func (p *Process) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Log returns the standard output and standard error of the process and its
// pre-start command, over all starts. (It includes the standard output of the
// pre-start command.)
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log.Name())
	return string(text)
}

func (p *Process) lastLines(n int) string {
	lines := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// WaitExit waits until the process has ended and no supervisor will start it
// again. It returns the latest exit code of etcd or its pre-start command: -1 if a
// signal ended the process (etcd sends itself SIGTERM after it received one) or if it
// has never exited.
func (p *Process) WaitExit(ctx context.Context) (int, error) {
	if r := p.currentRun(); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
			return 0, fmt.Errorf("%s has not ended: %w", p.Name, context.Cause(ctx))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitCode, nil
}
