// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

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
