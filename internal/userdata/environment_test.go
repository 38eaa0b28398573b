// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// help is what a version says about its flags.
func help(t *testing.T, v etcdtest.Version) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), etcdtest.Binary(t, v), "--help").CombinedOutput()
	must.Succeed(t, err)
	return string(out)
}

// The successor of each experimental flag of 3.5 and 3.6 is a flag or a feature gate of 3.7,
// and of 3.6, where it can be changed before the upgrade.
func TestSuccessorsOfExperimentalFlags(t *testing.T) {
	t.Parallel()
	before, after := help(t, etcdtest.V36), help(t, etcdtest.V37)
	flags := regexp.MustCompile(`--experimental-([a-z0-9-]+)`).FindAllStringSubmatch(help(t, etcdtest.V35)+before, -1)
	if len(flags) < 20 || strings.Contains(after, "--experimental-") {
		t.Errorf("%d flags", len(flags))
	}
	for _, f := range flags {
		name := strings.ToUpper(strings.ReplaceAll(f[1], "-", "_"))
		o := Options{bin: "/usr/bin", Environment: map[string]string{"ETCD_EXPERIMENTAL_" + name: "true"}}
		var e *OptionError
		if err := o.CheckVersion("3.7.3"); !errors.As(err, &e) || e.Problem != RemovedVariable {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, version := range []string{"3.6.16", "3.5.35", "3.10", "", "3.7"} {
			if err := o.CheckVersion(version); err != nil {
				t.Errorf("%s at %q: %v", name, version, err)
			}
		}
		if name == "ENABLE_V2V3" {
			continue // it has none
		}
		flag, gate, _ := strings.Cut(e.Allowed[0], " with ")
		text := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(flag, "ETCD_")), "_", "-")
		for _, of := range []string{before, after} {
			if !slices.Contains(strings.Fields(of), text) || gate != "" && !strings.Contains(of, gate+"=true|false") {
				t.Errorf("%s: there is no %s %s", name, text, gate)
			}
		}
	}
}

// Test that the bytes in use of etcd with the variables of user data stay bounded under a
// million overwrites of one key, and that they grow without compaction. The retention is set
// by the user, because the default is an hour. One member is enough: a compaction is a
// change like another one, which all members apply.
func TestOverwritesAreCompacted(t *testing.T) {
	t.Parallel()
	if !etcdtest.Full() {
		t.Skip("a million writes: run make test-full")
	}
	const writes, size = 250_000, 100 // in a round
	for retention, rounds := range map[string]int{"10s": 4, "0": 1} {
		t.Run(retention, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.Options{Env: compactionOf(t, retention)})
			client := cluster.Client(t)
			inUse := func() int64 {
				status, err := client.Status(etcdtest.WaitContext(t), cluster.Endpoints()[0])
				must.Succeed(t, err)
				return status.DbSizeInUse
			}
			for round := range rounds {
				overwrite(t, client, writes, strings.Repeat("v", size))
				if retention == "0" {
					if n := inUse(); n < int64(round+1)*writes*size {
						t.Errorf("without compaction %d bytes are in use after round %d", n, round+1)
					}
					continue
				}
				// Half of what the round has written, however fast that was.
				etcdtest.Until(t, "etcd has compacted", func() bool { return inUse() < writes*size/2 })
				t.Logf("round %d: %d bytes are in use", round+1, inUse())
			}
		})
	}
}

// compactionOf returns the variables about compaction that user data with a retention has.
func compactionOf(t *testing.T, retention string) map[string]string {
	t.Helper()
	o, _, err := Parse(map[string]any{"etcd": aRelease(), "environment": map[string]any{"ETCD_AUTO_COMPACTION_RETENTION": retention}})
	must.Succeed(t, err)
	m, err := newMachine(Node{Format: Format}, o, "/bin")
	must.Succeed(t, err)
	env := map[string]string{}
	for line := range strings.SplitSeq(variablesOf(m, "COMPACTION"), "; ") {
		if name, value, is := strings.Cut(line, "="); is {
			env[name] = value
		}
	}
	return env
}

// overwrite writes one key many times, from many writers at once.
func overwrite(t *testing.T, client *clientv3.Client, times int, value string) {
	t.Helper()
	const writers = 200
	done := make(chan error)
	for range writers {
		go func() {
			var err error
			for i := 0; i < times/writers && err == nil; i++ {
				_, err = client.Put(etcdtest.WaitContext(t), "k", value)
			}
			done <- err
		}()
	}
	var failed error
	for range writers {
		if err := <-done; err != nil {
			failed = err
		}
	}
	must.Succeed(t, failed)
}
