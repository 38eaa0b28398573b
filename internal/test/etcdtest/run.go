// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	argv       []string // of etcd
	preStart   []string
	env        []string

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
		argv:       []string{Binary(p.tb, p.Version)},
		preStart:   slices.Clone(p.PreStart),
		env:        CleanEnvironment(),
		began:      make(chan error, 1),
		stop:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	for key, value := range p.Env {
		r.env = append(r.env, key+"="+value)
	}
	if p.Version.skipsFsync() {
		r.argv = append(r.argv, "--unsafe-no-fsync")
	}
	p.mu.Lock()
	p.run = r
	p.mu.Unlock()
	go r.loop()
	if err := <-r.began; err != nil {
		p.PowerOff()
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
		r.begun(err)
		if err != nil {
			r.notef("%v", err)
		}
		if !r.supervised || code == exitNever {
			return
		}
		select {
		case <-time.After(r.delay):
		case <-r.stop:
			return
		}
	}
}

// notef adds a line of this package to the log.
func (r *run) notef(format string, args ...any) {
	fmt.Fprintf(r.p.log, "--- etcdtest: "+format+"\n", args...)
}

// begun tells the first caller whether the first start has succeeded.
func (r *run) begun(err error) {
	select {
	case r.began <- err:
	default:
	}
}

// once runs the pre-start command, if there is one, and then etcd. It returns
// an error if one of them cannot be started.
func (r *run) once() (exitCode int, err error) {
	env := r.env
	if len(r.preStart) > 0 {
		var out bytes.Buffer
		code, err := r.exec(r.preStart, env, &out, false)
		_, _ = r.p.log.Write(out.Bytes())
		if code != 0 || err != nil {
			return code, err
		}
		env = slices.Concat(env, strings.FieldsFunc(out.String(), func(c rune) bool { return c == '\n' }))
	}
	return r.exec(r.argv, env, r.p.log, true)
}

// CleanEnvironment omits the variables that configure etcd, etcdctl, the provider or its CLI.
func CleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "ETCD") || strings.HasPrefix(s, "TF_") })
}

// exec runs a command until it exits. It does not start it if the run is stopping.
func (r *run) exec(argv, env []string, stdout io.Writer, etcd bool) (exitCode int, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, stdout, r.p.log
	// Children that a killed script leaves behind can hold the pipes open.
	cmd.WaitDelay = time.Second
	prepareCommand(cmd)
	c := &child{cmd: cmd, etcd: etcd, done: make(chan struct{})}
	if started, err := r.begin(c); !started {
		return -1, err
	}
	r.begun(nil)
	_ = cmd.Wait() // the exit code says it
	r.mu.Lock()
	r.child = nil
	r.mu.Unlock()
	r.notef("%s, pid %d, ended: %v", cmd.Path, cmd.Process.Pid, cmd.ProcessState)
	close(c.done)
	return cmd.ProcessState.ExitCode(), nil
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
	r.notef("%s, pid %d, started", c.cmd.Path, c.cmd.Process.Pid)
	if c.etcd {
		r.p.mu.Lock()
		r.p.starts++
		r.p.mu.Unlock()
	}
	return true, nil
}

// end prevents further starts and kills the current child.
func (r *run) end() {
	r.mu.Lock()
	if !r.stopping {
		r.stopping = true
		close(r.stop)
	}
	r.mu.Unlock()
	_, _ = r.signal(syscall.SIGKILL)
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
