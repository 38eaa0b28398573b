// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// machine is a container with its own disk: its writes go to a directory over
// the image, which remains when the machine is off.
type machine struct {
	name    string // of the container
	dir     string // disk, work and console
	cgroups []string

	mu      sync.Mutex
	off     chan struct{} // closed while the machine is off
	stopped bool          // switched off from outside: a reboot does not switch it on
}

// root returns the path of the machine's file system.
func (m *machine) root() string { return filepath.Join(m.dir, "root") }

// newMachine creates the disk of a machine. The first layer is the uppermost.
func newMachine(name, dir string, layers []string, files map[string]string) (*machine, error) {
	m := &machine{
		name: name, dir: dir, cgroups: cgroups(os.Getenv(insideVariable), name),
		off: make(chan struct{}),
	}
	close(m.off)
	upper, work := filepath.Join(dir, "disk"), filepath.Join(dir, "work")
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	files["/etc/machine-id"] = hex.EncodeToString(id[:]) + "\n"
	if err := errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(m.root(), 0o755), writeFiles(upper, files)); err != nil {
		return nil, err
	}
	for _, dir := range m.cgroups {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	options := "lowerdir=" + strings.Join(layers, ":") + ",upperdir=" + upper + ",workdir=" + work
	if err := syscall.Mount("overlay", m.root(), "overlay", 0, options); err != nil {
		return nil, fmt.Errorf("mounting the disk of %s: %w", name, err)
	}
	return m, nil
}

// writeFiles writes files below dir. A text that begins with -> creates a link.
func writeFiles(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "->"); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rebootCode is the exit code of systemd-nspawn when a machine reboots.
const rebootCode = 133

// powerOn boots the machine.
func (m *machine) powerOn() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.off:
	default:
		return fmt.Errorf("%s is on", m.name)
	}
	m.stopped = false
	cmd, err := m.boot()
	if err != nil {
		return err
	}
	m.off = make(chan struct{})
	go m.supervise(cmd, m.off)
	return nil
}

// supervise boots the machine again after each reboot.
func (m *machine) supervise(cmd *exec.Cmd, off chan struct{}) {
	defer close(off)
	for {
		err := cmd.Wait()
		var exit *exec.ExitError
		m.mu.Lock()
		again := errors.As(err, &exit) && exit.ExitCode() == rebootCode && !m.stopped
		if again {
			cmd, err = m.boot()
		}
		m.mu.Unlock()
		if !again || err != nil {
			return
		}
	}
}

// boot starts the container in its own cgroup: containers in the same one would
// end each other's processes.
func (m *machine) boot() (*exec.Cmd, error) {
	_ = ip("link delete vb-" + m.name) // a killed machine leaves it for a moment
	console, err := os.OpenFile(filepath.Join(m.dir, "console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	cmd := exec.Command("sh", "-c", `for dir in $0; do echo $$ >"$dir/cgroup.procs" || exit; done; exec "$@"`, strings.Join(m.cgroups, " "),
		"systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--directory="+m.root(), "--machine="+m.name,
		"--network-bridge="+bridge, "--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=read-only", "--boot")
	cmd.Stdout, cmd.Stderr = console, console
	return cmd, cmd.Start()
}

// powerOff kills every process of the machine at once, like a power failure.
func (m *machine) powerOff() error {
	m.mu.Lock()
	m.stopped = true
	off := m.off
	m.mu.Unlock()
	deadline := time.Now().Add(30 * time.Second)
	for {
		pids := m.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-off:
			if len(pids) == 0 {
				return nil
			}
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not end: %v", m.name, pids)
		}
	}
}

// remove switches the machine off and removes its disk.
func (m *machine) remove() error {
	err := m.powerOff()
	if err != nil {
		return err
	}
	if err := syscall.Unmount(m.root(), syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the disk of %s: %w", m.name, err)
	}
	return errors.Join(removeCgroups(m.cgroups), os.RemoveAll(m.dir))
}

// processes returns the process IDs of the machine, including the container's own.
func (m *machine) processes() []int {
	var pids []int
	for _, dir := range m.cgroups {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "cgroup.procs" {
				text, _ := os.ReadFile(path)
				for field := range strings.FieldsSeq(string(text)) {
					if pid, err := strconv.Atoi(field); err == nil && pid > 0 && !slices.Contains(pids, pid) {
						pids = append(pids, pid)
					}
				}
			}
			return nil
		})
	}
	return pids
}

// removeCgroups removes cgroups and their descendants after their last
// processes have ended.
func removeCgroups(cgroups []string) error {
	var dirs []string
	for _, dir := range cgroups {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		err := syscall.Rmdir(dir)
		for tries := 0; errors.Is(err, syscall.EBUSY) && tries < 250; tries++ {
			time.Sleep(20 * time.Millisecond)
			err = syscall.Rmdir(dir)
		}
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("removing the cgroup %s: %w", dir, err)
		}
	}
	return nil
}

// leader returns the first process of the machine, or 0 if it is off.
func (m *machine) leader() int {
	for _, pid := range m.processes() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range bytes.Lines(status) {
			// The process ID here, and the one in the machine.
			if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "NSpid:" && string(f[2]) == "1" {
				return pid
			}
		}
	}
	return 0
}

// run runs a command on the machine and returns its output.
func (m *machine) run(args ...string) (string, error) {
	leader := m.leader()
	if leader == 0 {
		return "", fmt.Errorf("%s is off", m.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target", strconv.Itoa(leader), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--wd=/", "--",
	}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
