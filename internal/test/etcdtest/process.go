// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// exitNever is the exit code after which a supervisor does not start a process
// again: systemd's RestartPreventExitStatus, as the provider's join script uses it.
const exitNever = 78

// Process is an etcd process, running or not, with two ports and its own data
// directory, which exist until the test ends. Create it with [NewProcess],
// [Start] or [Cluster.NewJoiner].
//
// The exported fields may be changed while the process does not run;
// [Process.Start] and [Process.Supervise] read them. The methods may be called
// from any goroutine, except those that can fail the test: Start, Supervise,
// Freeze, Thaw and Wipe.
type Process struct {
	// Name is the member's name.
	Name string
	// Version is the version of etcd. Change it to upgrade.
	Version Version
	// Env contains the variables of the process, mostly ETCD_*. They are added
	// to those variables of this process that do not begin with ETCD.
	Env map[string]string
	// PreStart, if not empty, is a command that runs with the same environment
	// before each start of etcd, like systemd's ExecStartPre. Its standard
	// output consists of assignments (NAME=value, one per line, without quotes) that
	// are added to the environment of that start. If its exit code is not 0, etcd is not
	// started.
	PreStart []string

	tb      TB
	opts    Options
	dir     string
	client  int // port
	peer    int // port
	peerURL string
	link    *Link // in front of the peer port, or nil
	log     *os.File

	mu     sync.Mutex
	run    *run // the latest; nil before the first start
	starts int
}

// NewProcess prepares an etcd process without starting it. It reserves the
// ports and sets the name, data directory, URLs, TLS and other options in Env,
// but not the initial cluster. When the test ends, the process is killed, and
// if the test failed, the end of its log is shown.
func NewProcess(tb TB, opts Options) *Process {
	tb.Helper()
	v := cmp.Or(opts.Version, DefaultVersion)
	if opts.V2 && !v.servesV2() {
		tb.Fatalf("etcdtest: etcd %s does not serve the v2 API", v)
	}
	p := &Process{Name: cmp.Or(opts.Name, "infra1"), Version: v, tb: tb, opts: opts}
	// TempDir before Cleanup: directories are removed after the processes end.
	p.dir = filepath.Join(tb.TempDir(), p.Name+".etcd")
	var err error
	p.log, err = os.OpenFile(p.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must.Succeed(tb, err)
	p.client, p.peer = ReservePort(tb), ReservePort(tb)
	p.peerURL = p.listenPeerURL()
	if opts.Links {
		p.link = Proxy(tb, fmt.Sprintf("127.0.0.1:%d", p.peer))
		p.peerURL = fmt.Sprintf("%s://%s", opts.scheme(), p.link.Addr())
	}
	p.Env = p.environment()
	tb.Cleanup(func() {
		p.PowerOff()
		if tb.Failed() {
			tb.Logf("etcdtest: the end of the log of %s (etcd %s):\n%s", p.Name, p.Version, p.lastLines(60))
		}
		_ = p.log.Close()
	})
	return p
}

func (p *Process) listenPeerURL() string {
	return fmt.Sprintf("%s://127.0.0.1:%d", p.opts.scheme(), p.peer)
}

// Frugal returns the environment of an etcd that is mostly idle. With one
// processor for its Go runtime, it costs an eighth to a quarter less; with a
// heartbeat every 200 ms instead of 100 ms, another third less. A leader still
// counts as lost after 1 s, etcd's default. make bench measures servers without
// it.
func Frugal() map[string]string {
	if os.Getenv("ETCD_BENCH") != "" {
		return nil
	}
	return map[string]string{"GOMAXPROCS": "1", "ETCD_HEARTBEAT_INTERVAL": "200"}
}

// environment returns the initial value of Env.
func (p *Process) environment() map[string]string {
	o := p.opts
	env := map[string]string{
		"ETCD_NAME":                        p.Name,
		"ETCD_DATA_DIR":                    p.dir,
		"ETCD_LISTEN_CLIENT_URLS":          p.ClientURL(),
		"ETCD_ADVERTISE_CLIENT_URLS":       p.ClientURL(),
		"ETCD_LISTEN_PEER_URLS":            p.listenPeerURL(),
		"ETCD_INITIAL_ADVERTISE_PEER_URLS": p.peerURL,
	}
	maps.Copy(env, Frugal())
	if o.TLS != nil {
		maps.Copy(env, o.TLS.Environment())
	}
	if o.Password != "" {
		// The minimum: otherwise a login costs 50 ms of processor time, and a
		// member that restarts has lost all logins.
		env["ETCD_BCRYPT_COST"] = "4"
	}
	if o.V2 {
		env["ETCD_ENABLE_V2"] = "true"
	}
	maps.Copy(env, o.Env)
	return env
}

// ClientURL returns the URL on which the process serves clients.
func (p *Process) ClientURL() string {
	return fmt.Sprintf("%s://127.0.0.1:%d", p.opts.scheme(), p.client)
}

// PeerURL returns the peer URL that the process advertises: that of its peer
// port or, with Options.Links, that of the link in front of it.
func (p *Process) PeerURL() string { return p.peerURL }

// Dir returns the data directory, which may not exist.
func (p *Process) Dir() string { return p.dir }

// PeerLink returns the link in front of the peer port, or nil without
// Options.Links.
func (p *Process) PeerLink() *Link { return p.link }

// Start starts the process and returns when it or its pre-start command runs.
// It does not wait until the process serves; see [Process.WaitReady]. The test
// fails if the process cannot be started or already runs.
func (p *Process) Start() {
	p.tb.Helper()
	p.launch(false, 0)
}

// Supervise starts the process and keeps it running like systemd's
// Restart=always: delay after each exit of the process or its pre-start
// command, the process is started again, until [Process.PowerOff] or an exit with
// [exitNever].
func (p *Process) Supervise(delay time.Duration) {
	p.tb.Helper()
	p.launch(true, delay)
}

// PowerOff ends the process with SIGKILL, ends its supervision and waits for
// the exit, as if the machine were gone.
func (p *Process) PowerOff() {
	if r := p.currentRun(); r != nil {
		r.end()
		<-r.done
	}
}

// Kill ends the process with SIGKILL and waits for the exit. The supervisor of
// a supervised process starts it again, as after a crash; see
// [Process.PowerOff].
func (p *Process) Kill() {
	if r := p.currentRun(); r == nil || !r.supervised {
		p.PowerOff()
	} else if c, _ := r.signal(syscall.SIGKILL); c != nil {
		<-c.done
	}
}

// Freeze stops the process with SIGSTOP and returns when it has stopped: its
// connections stay open, and it does not answer. The test fails if the process
// does not run.
func (p *Process) Freeze() {
	p.tb.Helper()
	p.mustSignal("freeze", syscall.SIGSTOP)
	Until(p.tb, p.Name+" has stopped", func() bool { return Frozen(p.PID()) })
}

// Thaw continues a frozen process.
func (p *Process) Thaw() {
	p.tb.Helper()
	p.mustSignal("thaw", syscall.SIGCONT)
}

// Frozen reports whether a process has stopped. On a busy machine SIGSTOP takes time, and a
// thread that still runs can still answer.
func Frozen(pid int) bool { return ThreadsAre('T', pid) }

func (p *Process) mustSignal(what string, sig syscall.Signal) {
	p.tb.Helper()
	err := errors.New("it was never started")
	if r := p.currentRun(); r != nil {
		_, err = r.signal(sig)
	}
	if err != nil {
		p.tb.Fatalf("etcdtest: cannot %s %s: %v", what, p.Name, err)
	}
}

// Wipe removes the data directory, as if the disk of a machine were lost. The
// test fails if the process runs or will be started again.
func (p *Process) Wipe() {
	p.tb.Helper()
	if r := p.currentRun(); r != nil && !r.ended() {
		p.tb.Fatalf("etcdtest: cannot wipe %s: it runs", p.Name)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.tb.Fatalf("etcdtest: cannot wipe %s: %v", p.Name, err)
	}
}

func (p *Process) currentRun() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

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

// ReservePort returns a TCP port of 127.0.0.1 that the kernel chose and does
// not give to another process until the test ends. A server can be started,
// stopped and started again on it.
//
// On Linux a bound socket that does not listen reserves the port for the test.
// It has SO_REUSEADDR, as the listeners of Go programs (etcd) have, so these
// can bind the port and listen. The kernel gives the port neither to processes
// that ask for any port nor to outgoing connections. A server without
// SO_REUSEADDR cannot use the port. On other systems another process can take it.
func ReservePort(tb TB) int { tb.Helper(); return reserve(tb, "127.0.0.1") }

// ReserveIPv6Port is [ReservePort] for a port of ::1. The same port of
// 127.0.0.1 is independent of it.
func ReserveIPv6Port(tb TB) int { tb.Helper(); return reserve(tb, "::1") }

// ReservePorts is [ReservePort] for n ports and a program that is not a test.
func ReservePorts(n int) (ports []int, release func(), err error) {
	var releases []func()
	release = func() {
		for _, f := range releases {
			f()
		}
	}
	for range n {
		port, one, err := reservePort("127.0.0.1")
		if err != nil {
			release()
			return nil, nil, err
		}
		ports, releases = append(ports, port), append(releases, one)
	}
	return ports, release, nil
}

func reserve(tb TB, loopback string) int {
	tb.Helper()
	port, release, err := reservePort(loopback)
	if err != nil {
		tb.Fatalf("etcdtest: no port of %s: %v", loopback, err)
	}
	tb.Cleanup(release)
	return port
}
