// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

func TestMain(m *testing.M) { Main(m) }

const cluster = "etcd_cluster.this"

func machine(name string) string { return Address("terraform_data.machine", name) }
func member(name string) string  { return Address("etcd_member", name) }

// The life of a cluster: it forms, grows, shrinks, gets another version under writes, and
// another image while it grows, loses a machine, and is destroyed. Each apply does its steps
// in the order that keeps the guarantees: a member is removed before its machine is
// destroyed, and added after its machine runs. After each step the plan is empty.
func TestAccLife(t *testing.T) {
	OnEach(t, func(t *testing.T, cli string) {
		f := NewFleet(t, FleetOptions{CLI: cli, Version: etcdtest.V35})
		releases := f.Releases(etcdtest.V35, etcdtest.V36)
		f.Release = releases[0]
		f.Form().MustBeQuiet()
		f.Settled()

		f.Add("d", "e")
		f.manyURLs("e")
		before := f.MemberIDs()
		inOrder(f.Form().MustBeQuiet(), growth("d")...)
		f.MustHaveReplaced(before, "d", "e")
		f.Settled()

		f.Drop("d", "e")
		inOrder(f.Form(), done(member("d"), "delete"), begun(machine("d"), "delete"), done(machine("d"), "delete"), begun(cluster, "update"))
		f.mustBeDown("d", "e")
		f.Settled()

		f.Release = releases[1]
		writer := f.Writer(50 * time.Millisecond)
		f.roll(3)
		f.MustNotPause(writer)
		f.mustRun(releases[1])
		f.Settled()

		f.Image = "two"
		f.Add("d")
		f.prints(225, `# etcd_cluster\.this will be updated in-place`, regexp.QuoteMeta(f.Nodes["d"].Client), `~ "a" += \{`, `"image" = "one" -> "two"`,
			`~ pending +=`, `\+ "b"`, `\+ "c"`, `# etcd_member\.node\["a"\] must be replaced`, `# etcd_member\.node\["d"\] will be created`)
		o := f.Form()
		inOrder(o, replacement("a")...)
		inOrder(o, append([]step{done(machine("a"), "delete")}, growth("d")...)...)
		f.roll(2)
		f.Settled()

		before = f.MemberIDs()
		o = f.Form("-replace=" + machine("b"))
		inOrder(o, slices.DeleteFunc(replacement("b"), func(s step) bool { return s.address == cluster })...)
		f.MustHaveReplaced(before, "b")
		f.Settled()

		f.Destroy().MustSucceed()
		f.MustBeGone()
	})
}

// prints fails the test unless the human-readable output of a plan has at most so many
// lines, and lines that match the expressions, in this order: it shows names, addresses
// and what is next in the queue, but no long text for each node.
func (f *Fleet) prints(limit int, expressions ...string) {
	f.TB.Helper()
	text := string(f.Run("plan", "-no-color", "-input=false").MustSucceed().Stdout)
	lines := strings.Split(text, "\n")
	if len(lines) > limit {
		f.TB.Errorf("the plan has %d lines, want at most %d:\n%s", len(lines), limit, text)
	}
	for _, e := range expressions {
		i := slices.IndexFunc(lines, regexp.MustCompile(e).MatchString)
		if i < 0 {
			f.TB.Fatalf("no line matches %q where it should:\n%s", e, text)
		}
		lines = lines[i+1:]
	}
}

// manyURLs gives a node IPv6 addresses and host names, and several URLs of each kind, of
// which one is in a network that is unreachable from here.
func (f *Fleet) manyURLs(name string) {
	f.TB.Helper()
	v6 := func() string { return fmt.Sprintf("http://[::1]:%d", etcdtest.ReserveIPv6Port(f.TB)) }
	host := func() string { return fmt.Sprintf("http://localhost:%d", etcdtest.ReservePort(f.TB)) }
	n := f.Nodes[name]
	n.Peer, n.Peers = v6(), []string{host()}
	n.Client, n.Clients = v6(), []string{host(), "http://10.255.0.99:2379"}
	n.Listen = n.Client + "," + n.Clients[0]
}

// step is the end or the start of a change, as a CLI prints it.
type step struct{ kind, address, action string }

func done(address, action string) step  { return step{"apply_complete", address, action} }
func begun(address, action string) step { return step{"apply_start", address, action} }

// inOrder fails the test unless the run has printed these steps in this order. A step
// that does not start before another one ends is given with its start.
func inOrder(o *Outcome, steps ...step) {
	o.TB.Helper()
	at := -1
	for _, s := range steps {
		found := slices.IndexFunc(o.Hooks, func(h Hook) bool { return h.Type == s.kind && h.Address == s.address && h.Action == s.action })
		if found <= at {
			o.TB.Errorf("%v is step %d, and what must come before it is step %d:\n%v", s, found, at, o.Hooks)
			return
		}
		at = found
	}
}

// growth are the steps of a node that joins.
func growth(name string) []step {
	return []step{done(cluster, "update"), begun(machine(name), "create"), done(machine(name), "create"), begun(member(name), "create"), done(member(name), "create")}
}

// replacement are the steps of a node that is rebuilt.
func replacement(name string) []step {
	return append([]step{done(member(name), "delete"), begun(machine(name), "delete"), done(machine(name), "delete"), begun(cluster, "update")}, growth(name)...)
}

// pending are the nodes that wait for their turn.
func (f *Fleet) pending() (names []string) {
	list, _ := f.State(cluster)["pending"].([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// roll applies until none of so many nodes is pending, and fails the test unless each apply
// replaces one member.
func (f *Fleet) roll(left int) {
	f.TB.Helper()
	for ; left > 0; left-- {
		before := f.MemberIDs()
		o := f.Form()
		var replaced []string
		for name, id := range f.MemberIDs() {
			if before[name] != id {
				replaced = append(replaced, name)
			}
		}
		if len(replaced) != 1 || len(f.pending()) != left-1 {
			f.TB.Fatalf("the apply replaced %v and left %v pending, want one replaced and %d pending", replaced, f.pending(), left-1)
		}
		inOrder(o, replacement(replaced[0])...)
	}
}

// mustRun fails the test unless each member answers with that version.
func (f *Fleet) mustRun(release string) {
	f.TB.Helper()
	for _, name := range f.names() {
		status, err := f.Client(name).Status(etcdtest.WaitContext(f.TB), f.Nodes[name].Client)
		if err != nil || status.Version != release {
			f.TB.Errorf("%s answers with version %v (%v), want %s", name, status, err, release)
		}
	}
}

// mustBeDown fails the test if a machine of these is left.
func (f *Fleet) mustBeDown(names ...string) {
	f.TB.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(f.Machines, name)); err == nil {
			f.TB.Errorf("the machine of %s is left", name)
		}
	}
}

// replacementSteps is how many starts and ends of changes a CLI prints for a node that is
// rebuilt: two for each of two deletions, an update and two creations.
const replacementSteps = 10

// An image is rolled under a writer while the CLI is killed at random steps, and plain
// applies finish the roll. No write is lost.
func TestAccRollIsKilled(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	random := rand.New(rand.NewPCG(5, 1))
	writer := f.Writer(50 * time.Millisecond)
	f.Image = "two"
	for range 2 {
		f.killAt(1 + random.IntN(replacementSteps))
		f.Form()
	}
	for applies := 0; f.Plan().ExitCode == 2; applies++ {
		if applies > 2*len(f.Nodes) {
			t.Fatalf("pending after %d applies: %v", applies, f.pending())
		}
		f.Apply().MustSucceed()
	}
	f.MustNotPause(writer)
	f.MustVote()
	f.Settled()
}

// killAt starts an apply and kills the CLI once it has printed that many starts and ends
// of changes. It returns when the provider and the commands of the run have ended.
func (f *Fleet) killAt(step int) {
	f.TB.Helper()
	run := f.Start("apply")
	etcdtest.Until(f.TB, fmt.Sprintf("step %d", step), func() bool { return run.Steps() >= step || run.Ended() })
	f.freezeWhole(run)
	run.Kill()
	f.TB.Logf("killed after %d steps", run.Steps())
	awaitNone(f.TB, f.Dir)
	f.expireLock()
}

// freezeWhole stops the CLI while its state file is whole. The CLI overwrites the file in
// place: a kill in between would lose the state, which no provider can prevent.
func (f *Fleet) freezeWhole(run *Running) {
	f.TB.Helper()
	etcdtest.Eventually(f.TB, "the state is whole", func() error {
		if run.Ended() {
			return nil
		}
		pid := run.Cmd.Process.Pid
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		etcdtest.Until(f.TB, "the CLI stands still", func() bool { return etcdtest.Frozen(pid) })
		if json.Valid([]byte(f.Read("terraform.tfstate"))) {
			return nil
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		return errors.New("the CLI writes it")
	})
}

// When all machines of a cluster are gone, one apply restores it from a snapshot.
func TestAccRestoreInPlace(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	lost := fmt.Sprint(f.State(cluster)["cluster_id"])
	client, ctx := f.Client("a"), etcdtest.WaitContext(t)
	_, err := client.Put(ctx, "kept", "before")
	must.Succeed(t, err)
	file, sum := backup(ctx, t, client)
	f.Lose("a", "b", "c")
	f.Write("restore_override.tf", fmt.Sprintf(
		"resource \"etcd_cluster\" \"this\" {\n  restore = {\n    snapshot = %q\n    sha256 = %q\n    replaces_cluster = %q\n    gone = [\"a\", \"b\", \"c\"]\n  }\n}\n", file, sum, lost))
	f.Form()
	if id := fmt.Sprint(f.State(cluster)["cluster_id"]); id == lost {
		t.Errorf("the cluster is still %s", id)
	}
	f.Settled()
	got, err := f.Client("a").Get(ctx, "kept")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "before" {
		t.Errorf("kept is %v, %v", got, err)
	}
}

// backup saves a snapshot, and returns its path and its SHA-256.
func backup(ctx context.Context, t *testing.T, client *clientv3.Client) (path, sum string) {
	t.Helper()
	stream, err := client.Snapshot(ctx)
	must.Succeed(t, err)
	text, err := io.ReadAll(stream)
	must.Succeed(t, err)
	path = filepath.Join(t.TempDir(), "snapshot.db")
	must.Succeed(t, os.WriteFile(path, text, 0o600))
	return path, strings.ToLower(fmt.Sprintf("%x", sha256.Sum256(text)))
}

// A life with mutual TLS and a password, which is configured before authentication is on
// and required afterwards. Even the trace log contains no secrets. The cluster forms by a
// token, grows, and rolls without the token, which the destroy removes.
func TestAccLifeWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	const password = "Wq9zLkT4-not-to-be-seen"
	pki := etcdtest.NewPKI(t)
	f := NewFleet(t, FleetOptions{TLS: pki, Password: password, Registry: etcdtest.V35})
	trace := filepath.Join(filepath.Dir(f.Dir), "trace.log")
	f.Env = append(f.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+trace)
	f.Form().MustBeQuiet()
	etcdtest.EnableAuth(t, f.Client(), password)
	f.authEnabled = true
	f.Settled()
	f.Add("d")
	f.Form().MustBeQuiet()
	f.Image = "two"
	before := f.MemberIDs()
	f.Form()
	f.MustHaveReplaced(before, "a")
	states := f.Read("terraform.tfstate") + f.Read("terraform.tfstate.backup")
	f.Destroy().MustSucceed()
	f.MustBeGone()
	left, err := f.Registry.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) > 0 {
		t.Errorf("left in the discovery cluster: %v, %v", left, err)
	}

	log := must.Read(t, trace)
	if !strings.Contains(log, "[TRACE]") || !strings.Contains(log, "etcd_member") {
		t.Fatal("the log is not the trace log")
	}
	mustNotHold(t, "the log", []byte(log), password, pki)
	for _, r := range f.runs {
		o := r.outcome()
		if o.Args[0] != "show" { // the CLI itself repeats the configuration there
			mustNotHold(t, "the output of "+o.Args[0], append(o.Stdout, o.Stderr...), password, pki)
		}
	}
	mustNotHold(t, "the state", []byte(states), password, pki)
}

// mustNotHold fails the test if the text contains the password or a line of a
// private key.
func mustNotHold(t *testing.T, what string, text []byte, password string, pki *etcdtest.PKI) {
	t.Helper()
	secrets := []string{password}
	for _, cert := range []etcdtest.Cert{pki.Client("root"), pki.Server, pki.Peer} {
		for line := range strings.Lines(must.Read(t, cert.KeyFile)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && len(line) >= 20 {
				secrets = append(secrets, line)
			}
		}
	}
	for i, secret := range secrets {
		if at := bytes.Index(text, []byte(secret)); at >= 0 {
			t.Errorf("%s contains secret %d: …%s…", what, i, text[max(0, at-300):min(len(text), at+60)])
		}
	}
}

// A member whose store is damaged does not start again. The warning names the line of its
// log, and with replace_unreachable_after the next plan rebuilds its node, although its
// process connects to the others at each start.
func TestAccDamagedStore(t *testing.T) {
	t.Parallel()
	if !etcdtest.Full() {
		t.Skip("a cluster of each version: run make test-full")
	}
	const line = "found data inconsistency with peers"
	for _, v := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Version: v})
			f.MachineEnv["ETCD_SNAPSHOT_COUNT"] = "5" // 3.5 compares from its first snapshot on
			f.Form()
			client := f.Client("a")
			for range 20 {
				_, err := client.Put(etcdtest.WaitContext(t), "k", "a sound value")
				must.Succeed(t, err)
			}
			database := filepath.Join(f.Machines, "b", "data", "member", "snap", "db")
			etcdtest.Until(t, "b has stored the value, and a snapshot", func() bool {
				text, _ := os.ReadFile(database)
				snapshots, _ := filepath.Glob(filepath.Join(filepath.Dir(database), "*.snap"))
				return bytes.Contains(text, []byte("a sound value")) && len(snapshots) > 0
			})
			f.Crash("b")
			text, err := os.ReadFile(database)
			if err == nil {
				err = os.WriteFile(database, bytes.ReplaceAll(text, []byte("a sound value"), []byte("a wrong value")), 0o600)
			}
			must.Succeed(t, err)
			f.Repair("b")
			etcdtest.Until(t, "b refuses its store", func() bool {
				log, _ := os.ReadFile(filepath.Join(f.Machines, "b", "etcd.log"))
				return strings.Contains(string(log), line)
			})

			p := f.Plan()
			if !slices.ContainsFunc(p.Diagnostics, func(d Diagnostic) bool {
				return d.Summary == "Member b does not answer" && strings.Contains(d.Detail, line)
			}) {
				t.Errorf("no warning names the line: %s", p)
			}
			f.Write("replace_override.tf", "resource \"etcd_cluster\" \"this\" {\n  replace_unreachable_after = \"1s\"\n}\n")
			f.Apply().MustSucceed() // stores the argument, which the next refresh reads
			actions := f.Plan().Actions()
			if want := map[string]string{cluster: "update", machine("b"): "delete create", member("b"): "delete create"}; !maps.Equal(actions, want) {
				t.Fatalf("the plan changes %v, want %v", actions, want)
			}
			before := f.MemberIDs()
			f.Form()
			f.MustHaveReplaced(before, "b")
			f.Settled()
		})
	}
}
