// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Two of three machines are lost. Terraform reports this and changes nothing.
// The commands of the guide, run unchanged, recover the cluster from its
// survivor, with its data and its ID. Then a plan is empty and an apply can
// grow the cluster. (With ETCD_TEST_FULL=1 on each version.)
func TestAccQuorumLost(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		t.Run("from a survivor of "+string(v), func(t *testing.T) {
			t.Parallel()
			f, was := loseQuorum(t, v)
			f.mustChangeNothing(t)
			f.follow(t, v, "3. Start from a survivor")
			f.mustBeRecovered(t, was)
			f.Add("d")
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c", "d")
		})
	}
}

// loseQuorum forms a cluster of three, writes to it, and loses the machines of
// b and c. It returns the member a in the state.
func loseQuorum(t *testing.T, v etcdtest.Version) (*Fleet, map[string]any) {
	t.Helper()
	f := NewFleet(t, FleetOptions{Static: true, Version: v})
	f.Form()
	f.Apply("-refresh-only").MustSucceed() // stores in the state that they are members
	ctx := etcdtest.WaitContext(t)
	if _, err := f.Client("a").Put(ctx, "kept", "value"); err != nil {
		t.Fatal(err)
	}
	was := f.State(Address("etcd_member", "a"))
	f.Lose("b", "c")
	return f, was
}

// mustChangeNothing tries to add a member and to remove one.
func (f *Fleet) mustChangeNothing(t *testing.T) {
	t.Helper()
	before := f.survivorsList(t)
	gone := func(name string) string {
		return fmt.Sprintf("%s (%v) does not answer", name, f.State(Address("etcd_member", name))["id"])
	}
	f.Add("d")
	f.Nodes["d"].Create = "10m"
	for _, attempt := range []struct {
		summary string
		args    []string
	}{
		{"Cannot configure member d", nil},
		{"Cannot remove member c", []string{"-destroy", "-target=" + Address("etcd_member", "c")}},
	} {
		refused := f.Apply(attempt.args...).MustFail()
		e := refused.MustSay(attempt.summary)
		for _, says := range []string{
			"The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2. Nothing was changed.",
			gone("b"), gone("c"), "Bring at least 1 of ", " back, then apply again.",
			"recover the cluster in two applies", "etcd_snapshot", "the argument restore of etcd_initial_cluster", `The guide "Disaster recovery" has the steps (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/disaster-recovery).`,
		} {
			e.MustContain(t, attempt.summary, says) // members are in the order of their IDs
		}
	}
	if now := f.survivorsList(t); now != before {
		t.Errorf("the survivor's list was %s and is %s", before, now)
	}
	for _, name := range []string{"a", "b", "c"} {
		if f.State(Address("etcd_member", name)) == nil {
			t.Errorf("%s is no longer in the state", name)
		}
	}
	f.Drop("d")
}

// survivorsList returns the unconfirmed member list of a.
func (f *Fleet) survivorsList(t *testing.T) string {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	list, err := f.Client("a").MemberList(ctx, clientv3.WithSerializable())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list.Members)
}

func (f *Fleet) mustBeRecovered(t *testing.T, was map[string]any) {
	t.Helper()
	f.MustVote("a", "b", "c")
	ctx := etcdtest.WaitContext(t)
	got, err := f.Client("a", "b", "c").Get(ctx, "kept")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
		t.Errorf("what was written is now %v (%v)", got, err)
	}
	now := f.State(Address("etcd_member", "a"))
	if now["cluster_id"] != was["cluster_id"] || now["id"] != was["id"] {
		t.Errorf("a was %v of %v and is %v of %v", was["id"], was["cluster_id"], now["id"], now["cluster_id"])
	}
	f.Plan().MustBeEmpty()
	f.Apply().MustSucceed()
}

// follow runs the commands of a section of the guide, in order and in one
// shell: the blocks that are marked as sh. Values that the reader has to set
// are in other blocks and are set here.
func (f *Fleet) follow(t *testing.T, v etcdtest.Version, section string) {
	t.Helper()
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "templates", "guides", "disaster-recovery.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("the guide has no section %q", section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var script strings.Builder
	for {
		_, after, more := strings.Cut(rest, "\n```sh\n")
		if !more {
			break
		}
		block, after, _ := strings.Cut(after, "\n```")
		script.WriteString(block + "\n")
		rest = after
	}
	if script.Len() == 0 {
		t.Fatalf("section %q has no commands", section)
	}
	f.command(t, v, script.String())
}

// systemctl is a stand-in for the service manager of a's machine. Like
// systemctl set-environment, a setting applies to the next process.
const systemctl = `#!/bin/sh
set -eu
case "$1 ${2:-}" in
"stop etcd")
	[ -e "$MACHINE.kept.env" ] || cp "$MACHINE/etcd.env" "$MACHINE.kept.env"
	pid=$(head -n 1 "$MACHINE/supervisor.pid")
	kill -TERM "$pid"
	tries=0
	while kill -0 "$pid" 2>/dev/null && grep -qv ' Z ' "/proc/$pid/stat" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || exit 1
		sleep 0.1
	done
	;;
"start etcd")
	MACHINE_ENV=$(cat "$MACHINE.kept.env" "$MACHINE.set.env" 2>/dev/null || true)
	MACHINE_JOIN=$(gzip <"$MACHINE/join.sh" | base64)
	export MACHINE_ENV MACHINE_JOIN
	sh "$MACHINE_SH" up "$MACHINE"
	;;
set-environment*) printf '\n%s\n' "$2" >"$MACHINE.set.env" ;;
unset-environment*) rm "$MACHINE.set.env" ;;
*) echo "systemctl $*: not known here" >&2; exit 64 ;;
esac
`

// command runs shell commands in the directory of Terraform, with etcdctl and
// etcdutl of that version and access to a's machine. It stops at the first failure.
func (f *Fleet) command(t *testing.T, v etcdtest.Version, script string) {
	t.Helper()
	f.Save()
	bin := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("systemctl", systemctl)
	write("terraform", fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", f.cli))
	write("etcdctl", fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", etcdtest.EtcdctlBinary(t, v)))
	if strings.Contains(script, "etcdutl") {
		write("etcdutl", fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", etcdtest.EtcdutlBinary(t, v)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	cmd.Dir = f.Dir
	cmd.WaitDelay = time.Second
	machine := filepath.Join(f.Machines, "a")
	cmd.Env = append(CleanEnvironment(),
		"PATH="+bin+":"+os.Getenv("PATH"), "TF_CLI_CONFIG_FILE="+f.CLIConfig, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"TF_INPUT=0", "TF_CLI_ARGS_apply=-auto-approve", "ETCDCTL_API=3", "ETCDCTL_ENDPOINTS="+f.Nodes["a"].Client,
		"PEER_URL="+f.Nodes["a"].Peer, "DATA_DIR="+filepath.Join(machine, "data"),
		"MACHINE="+machine, "MACHINE_SH="+f.MachineScript, "ETCD_BIN="+f.Nodes["a"].Etcd,
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v, in:\n%s\nit said:\n%s", err, script, out)
	}
	t.Logf("%s", out)
}
