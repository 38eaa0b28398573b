// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// run is one life of a process: from Start to its exit, or from Supervise over
// all restarts to the last exit.
type run struct {
	p          *Process
	supervised bool
	delay      time.Duration
	binary     string
	args       []string
	preStart   []string
	env        map[string]string

	began chan error    // receives one value: the error of the first start
	stop  chan struct{} // closed when no further start is wanted
	done  chan struct{} // closed when the run has ended

	mu       sync.Mutex
	stopping bool
	child    *child // nil while no child runs
}

// child is one operating system process.
type child struct {
	cmd  *exec.Cmd
	etcd bool          // false for the pre-start command
	done chan struct{} // closed after it was waited for
}

func (p *Process) launch(supervised bool, delay time.Duration) {
	p.tb.Helper()
	if r := p.currentRun(); r != nil && !r.ended() {
		p.tb.Fatalf("etcdtest: cannot start %s: it runs, or its supervisor is going to start it", p.Name)
	}
	r := &run{
		p:          p,
		supervised: supervised,
		delay:      delay,
		binary:     Binary(p.tb, p.Version),
		args:       slices.Clone(p.Args),
		preStart:   slices.Clone(p.PreStart),
		env:        maps.Clone(p.Env),
		began:      make(chan error, 1),
		stop:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	if p.Version.skipsFsync() {
		r.args = append(r.args, "--unsafe-no-fsync")
	}
	p.mu.Lock()
	p.run = r
	p.mu.Unlock()
	go r.loop()
	if err := <-r.began; err != nil {
		r.end(syscall.SIGKILL)
		<-r.done
		p.tb.Fatalf("etcdtest: cannot start %s: %v", p.Name, err)
	}
}

// loop starts the process once, or repeatedly if it is supervised. It locks its
// operating system thread: the kernel kills the child when the thread that
// started it ends, and the Go runtime may end threads at any time.
func (r *run) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(r.done)
	for {
		code, err := r.once()
		select {
		case r.began <- err:
		default:
		}
		r.p.mu.Lock()
		r.p.exitCode = code
		r.p.mu.Unlock()
		if err != nil {
			r.p.log.notef("%v", err)
		}
		if !r.supervised || code == exitNever {
			return
		}
		timer := time.NewTimer(r.delay)
		select {
		case <-timer.C:
		case <-r.stop:
			timer.Stop()
			return
		}
	}
}

// once runs the pre-start command, if there is one, and then etcd. It returns
// an error if one of them cannot be started.
func (r *run) once() (exitCode int, err error) {
	env := r.env
	if len(r.preStart) > 0 {
		var out bytes.Buffer
		code, err := r.exec(r.command(env, r.preStart[0], r.preStart[1:], &out), false)
		_, _ = r.p.log.Write(out.Bytes())
		if code != 0 || err != nil {
			return code, err
		}
		added, err := parseAssignments(out.String())
		if err != nil {
			return 1, fmt.Errorf("the output of the pre-start command: %w", err)
		}
		env = maps.Clone(env)
		maps.Copy(env, added)
	}
	return r.exec(r.command(env, r.binary, r.args, r.p.log), true)
}

func (r *run) command(env map[string]string, name string, args []string, stdout io.Writer) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = inheritedEnvironment()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	cmd.Stdout, cmd.Stderr = stdout, r.p.log
	// Children that a killed script leaves behind can hold the pipes open.
	cmd.WaitDelay = time.Second
	prepareCommand(cmd)
	return cmd
}

// inheritedEnvironment omits the variables that configure etcd or etcdctl.
func inheritedEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "ETCD") })
}

// exec runs cmd until it exits. It does not start cmd if the run is stopping.
func (r *run) exec(cmd *exec.Cmd, etcd bool) (exitCode int, err error) {
	c := &child{cmd: cmd, etcd: etcd, done: make(chan struct{})}
	if started, err := r.begin(c); !started {
		return -1, err
	}
	select {
	case r.began <- nil:
	default:
	}
	err = cmd.Wait()
	r.mu.Lock()
	r.child = nil
	r.mu.Unlock()
	code := cmd.ProcessState.ExitCode()
	r.p.log.notef("%s, pid %d, ended: %v", cmd.Path, cmd.Process.Pid, cmd.ProcessState)
	close(c.done)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return code, err
	}
	return code, nil
}

func (r *run) begin(c *child) (started bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return false, nil
	}
	if err := c.cmd.Start(); err != nil {
		return false, err
	}
	r.child = c
	r.p.log.notef("%s, pid %d, started", c.cmd.Path, c.cmd.Process.Pid)
	if c.etcd {
		r.p.mu.Lock()
		r.p.starts++
		r.p.mu.Unlock()
	}
	return true, nil
}

// end prevents further starts and sends sig to the current child.
func (r *run) end(sig syscall.Signal) {
	r.mu.Lock()
	if !r.stopping {
		r.stopping = true
		close(r.stop)
	}
	r.mu.Unlock()
	_, _ = r.signal(sig)
}

// signal sends sig to the current child and returns it. It returns an error if
// there is no child or it has just ended.
func (r *run) signal(sig syscall.Signal) (*child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil {
		return nil, errors.New("it does not run")
	}
	if r.child.etcd {
		return r.child, r.child.cmd.Process.Signal(sig)
	}
	return r.child, syscall.Kill(-r.child.cmd.Process.Pid, sig) // a script and its children
}

func (r *run) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil || !r.child.etcd {
		return 0
	}
	return r.child.cmd.Process.Pid
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// parseAssignments parses lines of the form NAME=value as systemd does for
// EnvironmentFile=. It ignores empty lines and comments. A value may be in
// single quotes (taken literally) or in double quotes (where a backslash
// escapes the next character).
func parseAssignments(text string) (map[string]string, error) {
	env := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t'\"") {
			return nil, fmt.Errorf("%q is no assignment", line)
		}
		if n := len(value); n >= 2 && value[0] == value[n-1] {
			switch value[0] {
			case '\'':
				value = value[1 : n-1]
			case '"':
				value = unescape(value[1 : n-1])
			}
		}
		env[name] = value
	}
	return env, nil
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
