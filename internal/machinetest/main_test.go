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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
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
