// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// PID returns the process ID in a file of a machine, or 0 if there is none.
func (f *Fleet) PID(name, file string) int {
	text, _ := os.ReadFile(filepath.Join(f.Machines, name, file))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Crash kills the machine's supervisor with its process group, which has its etcd or
// its join script, and waits for their end: the machine is down, and its directory
// stays.
func (f *Fleet) Crash(names ...string) {
	f.TB.Helper()
	for _, name := range names {
		etcdtest.Until(f.TB, "etcd runs on "+name, func() bool { return f.PID(name, "etcd.pid") != 0 }) // it may be between two starts
		if pid := f.PID(name, "supervisor.pid"); pid == 0 || syscall.Kill(-pid, syscall.SIGKILL) != nil {
			f.TB.Fatalf("the supervisor %d of %s cannot be killed", pid, name)
		}
	}
	for _, name := range names {
		awaitNone(f.TB, filepath.Join(f.Machines, name))
	}
}

// awaitNone waits until no process runs in the directory. A sleep or curl of a join
// script outlives it for a moment. systemd would end it with the service.
func awaitNone(tb testing.TB, dir string) {
	tb.Helper()
	etcdtest.Eventually(tb, "no process runs in "+dir, func() error {
		if left := processesIn(dir); len(left) > 0 {
			return fmt.Errorf("left running: %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// Repair boots a crashed machine again, with its disk.
func (f *Fleet) Repair(names ...string) {
	f.TB.Helper()
	for _, name := range names {
		dir := filepath.Join(f.Machines, name)
		env, err1 := os.ReadFile(filepath.Join(dir, "etcd.env"))
		etcd, err2 := os.Readlink(filepath.Join(dir, "bin", "etcd"))
		must.Succeed(f.TB, errors.Join(err1, err2))
		join, _ := os.ReadFile(filepath.Join(dir, "join.sh")) // not every machine has one
		f.Boot(name, etcd, string(env), string(join))
	}
}

// Boot starts the supervisor of a machine with its etcd, its etcd.env and its join script.
func (f *Fleet) Boot(name, etcd, env, join string) {
	f.TB.Helper()
	if join != "" {
		join = joinscript.Encode(join)
	}
	cmd := exec.Command("sh", f.MachineScript, "up", filepath.Join(f.Machines, name))
	cmd.Env = append(etcdtest.CleanEnvironment(), "ETCD_BIN="+etcd, "MACHINE_ENV="+env, "MACHINE_JOIN="+join)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.TB.Fatalf("machine.sh up %s: %v\n%s", name, err, out)
	}
}

// BootByHand starts the machines of all nodes as a cluster that Terraform does not know.
func (f *Fleet) BootByHand() {
	f.TB.Helper()
	var initial []string
	for name, n := range f.Nodes {
		initial = append(initial, name+"="+n.Peer)
	}
	for name, n := range f.Nodes {
		env := []string{
			"ETCD_NAME=" + name, "ETCD_INITIAL_CLUSTER=" + strings.Join(initial, ","), "ETCD_INITIAL_CLUSTER_TOKEN=by-hand",
			"ETCD_LISTEN_PEER_URLS=" + n.Peer, "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + n.Peer,
			"ETCD_LISTEN_CLIENT_URLS=" + n.Client, "ETCD_ADVERTISE_CLIENT_URLS=" + n.Client,
		}
		for key, value := range f.MachineEnv {
			env = append(env, key+"="+value)
		}
		f.Boot(name, n.Etcd, strings.Join(env, "\n"), "")
	}
	f.MustServe(f.names()[0])
	f.MustVote()
}

// MustBeGone fails the test if a process or a directory of a machine is left.
func (f *Fleet) MustBeGone() {
	f.TB.Helper()
	awaitNone(f.TB, filepath.Dir(f.Dir))
	entries, err := os.ReadDir(f.Machines)
	must.Succeed(f.TB, err)
	for _, e := range entries {
		if e.IsDir() {
			f.TB.Errorf("left: %s", filepath.Join(f.Machines, e.Name()))
		}
	}
}

// Lose kills the processes of machines and deletes their directories.
func (f *Fleet) Lose(names ...string) {
	f.TB.Helper()
	f.Crash(names...)
	for _, name := range names {
		must.Succeed(f.TB, os.RemoveAll(filepath.Join(f.Machines, name)))
	}
}

// Process is an operating system process in /proc.
type Process struct {
	PID      int
	exe, Dir string
}

// Processes returns all processes except zombies (Linux only).
func Processes() []Process {
	var out []Process
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended already
		}
		// The command in parentheses can contain any character.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || fields[0] == "Z" {
			continue
		}
		p := Process{PID: pid}
		p.exe, _ = os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		p.Dir, _ = os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		out = append(out, p)
	}
	return out
}

// processesIn describes the processes that work in or below dir (Linux only).
func processesIn(dir string) []string {
	var out []string
	for _, p := range Processes() {
		if p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") {
			out = append(out, fmt.Sprintf("%d %s in %s", p.PID, filepath.Base(p.exe), p.Dir))
		}
	}
	return out
}

// underRace reports whether the tests run under the race detector. The provider that they
// build then uses it too.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// raceReports is the prefix of the race detector's files in a directory.
const raceReports = "race"

// races prints the reports, and reports whether there were any.
func races(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, raceReports+".*"))
	for _, name := range found {
		text, _ := os.ReadFile(name)
		fmt.Fprintf(os.Stderr, "a provider process:\n%s\n", text)
	}
	return len(found) > 0
}

// Client returns a client of these nodes, or of all nodes if none are named. It
// is closed when the test ends.
func (f *Fleet) Client(names ...string) *clientv3.Client {
	f.TB.Helper()
	cfg := f.clientConfig(names...)
	var client *clientv3.Client
	// A login fails while the leadership changes.
	etcdtest.Eventually(f.TB, fmt.Sprintf("client of %v", cfg.Endpoints), func() (err error) {
		client, err = clientv3.New(cfg)
		return err
	})
	f.TB.Cleanup(func() { _ = client.Close() })
	return client
}

// clientConfig is the configuration of [Fleet.Client].
func (f *Fleet) clientConfig(names ...string) clientv3.Config {
	f.TB.Helper()
	if len(names) == 0 {
		for name := range f.Nodes {
			names = append(names, name)
		}
	}
	var endpoints []string
	for _, name := range names {
		endpoints = append(endpoints, f.Nodes[name].dial())
	}
	slices.Sort(endpoints)
	cfg := clientv3.Config{Endpoints: endpoints, DialTimeout: 2 * time.Second, Logger: zap.NewNop()}
	if t := f.Options.TLS; t != nil {
		cfg.TLS = t.ClientConfig(t.Client("root"))
	}
	if f.authEnabled {
		cfg.Username, cfg.Password = "root", f.Options.Password
		cfg.DialTimeout = 30 * time.Second // for the login, which waits for a member that restarts
	}
	return cfg
}

// Members returns the member list by a linearizable read, which may have to wait
// for an election.
func (f *Fleet) Members() []*etcdserverpb.Member {
	f.TB.Helper()
	var resp *clientv3.MemberListResponse
	etcdtest.Eventually(f.TB, "member list", func() (err error) {
		resp, err = f.Client().MemberList(etcdtest.WaitContext(f.TB))
		return err
	})
	return resp.Members
}

// MustVote fails the test unless exactly the nodes are listed and all of them are voters,
// and waits until each one answers a linearizable read.
func (f *Fleet) MustVote() {
	f.TB.Helper()
	var got []string
	members := f.Members()
	for _, m := range members {
		if !m.IsLearner {
			got = append(got, m.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, f.names()) || len(members) != len(got) {
		f.TB.Fatalf("the voters are %v of %d members, want %v", got, len(members), f.names())
	}
	for _, name := range got {
		f.MustServe(name)
	}
}

// Writer starts a writer to the cluster, which begins with the nodes that there are and
// follows the members.
func (f *Fleet) Writer(interval time.Duration) *etcdtest.Writer {
	f.TB.Helper()
	return etcdtest.NewWriter(f.TB, f.clientConfig(), interval)
}

// MustNotPause stops the writer. It fails the test if no write was acknowledged for much
// longer than elections take on a busy machine, which may follow one another, or if an
// acknowledged write is lost. A quorum that is lost does not come back by itself.
func (f *Fleet) MustNotPause(w *etcdtest.Writer) {
	f.TB.Helper()
	w.Stop()
	if gap := w.LongestGap(time.Time{}); gap.Duration() > 30*time.Second {
		n, err := w.Failures()
		f.TB.Errorf("writes paused: %v (%d failed, the last with: %v)", gap, n, err)
	}
	lost, err := w.Lost(etcdtest.WaitContext(f.TB), f.Client())
	if err != nil || len(lost) > 0 {
		f.TB.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
	}
}

// expireLock expires a lock whose holder was killed: it revokes the lease,
// which would expire by itself 20 s after the last heartbeat.
func (f *Fleet) expireLock() {
	f.TB.Helper()
	ctx, client := etcdtest.WaitContext(f.TB), f.Client()
	lock, err := client.Get(ctx, "/_terraform/etcd/"+f.ClusterID()+"/lock")
	if err == nil && len(lock.Kvs) > 0 {
		_, err = client.Revoke(ctx, clientv3.LeaseID(lock.Kvs[0].Lease))
	}
	must.Succeed(f.TB, err)
}

// MustServe waits until a member answers a linearizable read.
func (f *Fleet) MustServe(name string) {
	f.TB.Helper()
	client := f.Client(name)
	etcdtest.Eventually(f.TB, name+" serves", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := client.Get(ctx, "acctest")
		return err
	})
}

// MemberIDs returns the members' IDs by name.
func (f *Fleet) MemberIDs() map[string]uint64 {
	f.TB.Helper()
	out := map[string]uint64{}
	for _, m := range f.Members() {
		out[m.Name] = m.ID
	}
	return out
}

// MustHaveReplaced fails the test unless exactly the IDs of these members have
// changed.
func (f *Fleet) MustHaveReplaced(before map[string]uint64, names ...string) {
	f.TB.Helper()
	for name, id := range f.MemberIDs() {
		if (before[name] != id) != slices.Contains(names, name) {
			f.TB.Errorf("%s was %x and is %x; only %v were to be replaced", name, before[name], id, names)
		}
	}
}

// ClusterID returns the ID of the cluster in hexadecimal.
func (f *Fleet) ClusterID() string {
	f.TB.Helper()
	list, err := f.Client().MemberList(etcdtest.WaitContext(f.TB))
	must.Succeed(f.TB, err)
	return fmt.Sprintf("%x", list.Header.ClusterId)
}
