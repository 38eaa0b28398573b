// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

// Package machinetest boots machines and creates clusters of them with one apply. The
// machines are containers of systemd-nspawn with Debian's own systemd and cloud-init,
// each with its own disk, network and processes. It contains only tests.
//
// The tests run in their own namespaces. When the last process of the tests ends for
// any reason, the kernel ends all machines and removes their networks and mounts.
package machinetest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

const (
	// askedVariable enables these tests.
	askedVariable = "ETCD_TEST_MACHINES"
	// guestVariable names the file system that tools/guest has built.
	guestVariable = "ETCD_TEST_GUEST"
	// insideVariable is set inside the namespaces, to the process ID outside.
	insideVariable = "ETCD_TEST_MACHINES_INSIDE"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(insideVariable) != "" && os.Getpid() == 1:
		os.Exit(first())
	case os.Getenv(insideVariable) != "":
		acctest.Main(m)
	case os.Getenv(askedVariable) != "" && obstacle() == "":
		os.Exit(enter())
	default:
		os.Exit(m.Run())
	}
}

// programs are the programs that the host needs.
var programs = []string{"systemd-nspawn", "ip", "nsenter", "curl"}

// need skips the test with a reason if machines cannot boot.
func need(t *testing.T) {
	t.Helper()
	if os.Getenv(askedVariable) == "" {
		t.Skip("make test-machines boots machines")
	}
	if why := obstacle(); why != "" {
		t.Skip(why)
	}
}

// obstacle returns the reason why machines cannot boot here, or "" if they can.
func obstacle() string {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return err.Error()
		}
	}
	if os.Geteuid() != 0 {
		return "machines need root"
	}
	if _, err := os.Stat(filepath.Join(guest(), ".built")); err != nil {
		return fmt.Sprintf("there is no file system for machines: %v", err)
	}
	if len(hierarchies()) == 0 {
		return "machines need cgroups"
	}
	try := exec.Command("true")
	try.SysProcAttr = namespaces()
	if err := try.Run(); err != nil {
		return fmt.Sprintf("machines need namespaces: %v", err)
	}
	return ""
}

// guest returns the directory that tools/guest has built.
func guest() string {
	if dir := os.Getenv(guestVariable); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "bin", "guest")
}

// hierarchies returns the cgroup hierarchies that systemd uses: the unified
// one, its own of version 1, or both.
func hierarchies() []string {
	var used []string
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			used = append(used, dir)
		}
	}
	return used
}

// cgroups returns the cgroups of all machines of a test run, one in each hierarchy,
// or those of one machine. pid is the process ID of the test run outside.
func cgroups(pid string, machine ...string) []string {
	var dirs []string
	for _, dir := range hierarchies() {
		dirs = append(dirs, filepath.Join(append([]string{dir, "machinetest-" + pid}, machine...)...))
	}
	return dirs
}

// enter runs the tests in new namespaces and returns their exit code.
func enter() int {
	runtime.LockOSThread() // Pdeathsig refers to the end of this thread
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "machinetest:", err)
		return 1
	}
	pid := strconv.Itoa(os.Getpid())
	inside := exec.Command(program, os.Args[1:]...)
	inside.Env = append(os.Environ(), insideVariable+"="+pid)
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = namespaces()
	err = inside.Run()
	if left := removeCgroups(cgroups(pid)); left != nil && err == nil {
		err = left
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "machinetest:", err)
		return 1
	}
	return 0
}

// first is the first process in the namespaces. It runs the tests, returns
// their exit code, and reaps orphaned processes: a machine ends only when the
// last process that entered it is reaped.
func first() int {
	program, err := os.Executable()
	if err == nil {
		err = settle()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machinetest:", err)
		return 1
	}
	tests, err := syscall.ForkExec(program, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "machinetest:", err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "machinetest:", err)
			return 1
		case pid == tests && status.Exited():
			return status.ExitStatus()
		case pid == tests:
			return 1
		}
	}
}

// namespaces starts a process as the first one in new namespaces: when it ends,
// all their processes end. It ends with the thread that starts it.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
}

// settle prepares the namespaces: further mounts are not visible outside, and
// the only network is an isolated bridge.
func settle() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	// systemd-nspawn keeps locks there, named after machines.
	if err := os.MkdirAll("/run/systemd", 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run/systemd: %w", err)
	}
	for _, args := range []string{
		"link set lo up", "link add " + bridge + " type bridge", "address add " + hostAddress + "/16 dev " + bridge, "link set " + bridge + " up",
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	return nil
}

// bridge connects all machines and the tests.
const (
	bridge      = "guests"
	hostAddress = "10.83.0.1"
)

// ip runs ip with arguments that contain no spaces.
func ip(args string) error {
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// cloud creates and destroys machines for a test, with an HTTP API like a cloud's:
//
//	PUT    /NAME?address=10.83.1.11&image=3.6   the body is the user data
//	DELETE /NAME
//
// A machine exists when PUT is answered. It has not booted then.
type cloud struct {
	url string
	// trusted is a certificate authority that every image trusts, in PEM.
	trusted string

	t      *testing.T
	number int // number of the cloud, for names and addresses
	dir    string

	mu       sync.Mutex
	machines map[string]*machine
	layers   map[string][]string // of the images, by name
}

var clouds atomic.Int32

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{t: t, number: int(clouds.Add(1)), dir: t.TempDir(), machines: map[string]*machine{}, layers: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	c.url = server.URL
	t.Cleanup(func() {
		server.Close()
		c.end()
	})
	return c
}

// address returns an address in the network of the cloud.
func (c *cloud) address(host int) string { return fmt.Sprintf("10.83.%d.%d", c.number, host) }

func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	var err error
	switch r.Method {
	case http.MethodPut:
		var userData []byte
		if userData, err = io.ReadAll(r.Body); err == nil {
			err = c.create(name, r.URL.Query().Get("address"), r.URL.Query().Get("image"), string(userData))
		}
	case http.MethodDelete:
		err = c.destroy(name)
	default:
		err = fmt.Errorf("no method %s", r.Method)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (c *cloud) create(name, address, image, userData string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machines[name] != nil {
		return fmt.Errorf("there is a machine %s", name)
	}
	layers, err := c.image(image)
	if err != nil {
		return err
	}
	const seed = "/var/lib/cloud/seed/nocloud/"
	m, err := newMachine(fmt.Sprintf("c%d-%s", c.number, name), filepath.Join(c.dir, name), layers, map[string]string{
		seed + "user-data":      userData,
		seed + "meta-data":      fmt.Sprintf("instance-id: %s-%d\nlocal-hostname: %s\n", name, time.Now().UnixNano(), name),
		seed + "network-config": "version: 2\nethernets:\n  host0:\n    addresses: [" + address + "/16]\n",
	})
	if err != nil {
		return err
	}
	c.machines[name] = m
	return m.powerOn()
}

func (c *cloud) destroy(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[name]
	if m == nil {
		return nil
	}
	if err := m.remove(); err != nil {
		return err
	}
	delete(c.machines, name)
	return nil
}

// machine returns an existing machine.
func (c *cloud) machine(name string) *machine {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[name]
	if m == nil {
		c.t.Fatalf("there is no machine %s", name)
	}
	return m
}

// all returns the existing machines by name.
func (c *cloud) all() map[string]*machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.machines)
}

// end removes all machines. If the test failed, it first logs the report of
// each machine.
func (c *cloud) end() {
	for name, m := range c.all() {
		if c.t.Failed() {
			c.t.Logf("machine %s:\n%s", name, m.report())
		}
		if err := c.destroy(name); err != nil {
			c.t.Error(err)
		}
	}
}

// report returns the end of the machine's output.
func (m *machine) report() string {
	console, _ := os.ReadFile(filepath.Join(m.dir, "console"))
	etcd, err := m.run("journalctl", "--no-pager", "--unit=etcd", "--lines=40")
	if err != nil {
		etcd += "\n" + err.Error()
	}
	status, _ := m.run("systemctl", "status", "--no-pager", "--lines=20", "etcd")
	boot, _ := m.run("cloud-init", "status", "--long")
	return strings.Join([]string{tail(string(console), 30), boot, status, etcd}, "\n---\n")
}

func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// image returns the layers of an image. Its name is the version of etcd in it,
// or "plain" for an image without etcd.
func (c *cloud) image(name string) ([]string, error) {
	if layers := c.layers[name]; layers != nil {
		return layers, nil
	}
	bottom, err := filepath.Abs(guest())
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(c.dir, ".settings")
	if len(c.layers) == 0 {
		const trusted = "/etc/ssl/certs/ca-certificates.crt"
		authorities, err := os.ReadFile(filepath.Join(bottom, trusted))
		if err != nil {
			return nil, err
		}
		files := maps.Clone(settingsOfAll)
		files[trusted] = string(authorities) + c.trusted
		if err := writeFiles(settings, files); err != nil {
			return nil, err
		}
	}
	layers := []string{settings, bottom}
	if name != "plain" {
		programs := filepath.Join(c.dir, ".etcd-"+name)
		bin := filepath.Join(programs, "usr", "local", "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return nil, err
		}
		v := etcdtest.Version(name)
		for program, path := range map[string]string{"etcd": etcdtest.Binary(c.t, v), "etcdctl": etcdtest.EtcdctlBinary(c.t, v)} {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(bin, program), text, 0o755)
			}
			if err != nil {
				return nil, err
			}
		}
		layers = append([]string{programs}, layers...)
	}
	c.layers[name] = layers
	return layers, nil
}

// settingsOfAll are the files that every image has in addition to Debian's. A
// link enables or disables a unit.
var settingsOfAll = map[string]string{
	"/etc/hostname":            "guest\n",
	"/etc/hosts":               "127.0.0.1 localhost\n::1 localhost\n",
	"/etc/resolv.conf":         "",
	"/etc/apt/sources.list":    "", // no package source is reachable
	"/var/lib/dbus/machine-id": "->/etc/machine-id",
	// There is no router to wait for.
	"/etc/systemd/network/10-cloud-init-host0.network.d/router.conf": "[Network]\nIPv6AcceptRA=no\n",
	"/etc/cloud/cloud.cfg.d/90-machinetest.cfg":                      "datasource_list: [NoCloud]\nlocale: false\n",

	"/etc/systemd/system/multi-user.target.wants/systemd-networkd.service":                 "->/lib/systemd/system/systemd-networkd.service",
	"/etc/systemd/system/network-online.target.wants/systemd-networkd-wait-online.service": "->/lib/systemd/system/systemd-networkd-wait-online.service",
	"/etc/systemd/system/apt-daily.timer":                                                  "->/dev/null",
	"/etc/systemd/system/apt-daily-upgrade.timer":                                          "->/dev/null",
	"/etc/systemd/system/e2scrub_all.timer":                                                "->/dev/null",
	"/etc/systemd/system/fstrim.timer":                                                     "->/dev/null",
}
