// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// exitTimeout is how long an interrupted command may take to end before it is
// killed.
const exitTimeout = 10 * time.Second

// lookPath returns the absolute path of a program.
func lookPath(program string) (string, error) {
	found, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w; run make demo, which builds what it needs", err)
	}
	return filepath.Abs(found)
}

// command is one call of a program.
type command struct {
	dir  string
	env  []string // added to the cleaned environment
	args []string // beginning with the program
}

// run runs the command to its end and returns its exit code and its output. It
// returns an error if the program could not be run or was interrupted. An exit
// code other than 0 is not an error.
func (c command) run(ctx context.Context) (code int, stdout, all string, err error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(environment(), c.env...)
	var out bytes.Buffer
	both := &sharedBuffer{}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, both), both
	ownGroup(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = exitTimeout
	err = cmd.Run()
	if cmd.Process != nil && ctx.Err() != nil {
		endGroup(cmd.Process.Pid) // a killed Terraform leaves its providers behind
	}
	if ctx.Err() != nil {
		return -1, out.String(), both.String(), ctx.Err()
	}
	if cmd.ProcessState == nil {
		return -1, "", "", err
	}
	return cmd.ProcessState.ExitCode(), out.String(), both.String(), nil
}

// environment returns the environment of this process, without the variables
// that a user may have set for Terraform, etcd and etcdctl.
func environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		for _, prefix := range []string{"TF_", "TOFU_", "ETCD", "MACHINE_", "no_proxy=", "NO_PROXY="} {
			if strings.HasPrefix(kv, prefix) {
				return true
			}
		}
		return false
	}), "no_proxy=*") // all connections are local
}

// sharedBuffer is a buffer to which several goroutines can write.
type sharedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
