// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A snapshot of 1 GiB, with large and small values, under writes and with a
// member down, is consistent. The provider's memory stays small, also in the
// plan that reads the file.
func TestAccSnapshotLarge(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("it writes 3 GiB: set ETCD_TEST_FULL=1")
	}
	const most = 80 << 20
	b := etcdtest.Start(t, 3, etcdtest.Options{QuotaBytes: 4 << 30, Heartbeat: 200 * time.Millisecond, Election: 4 * time.Second})
	client := b.Client(t)
	put := func(ops ...clientv3.Op) {
		t.Helper()
		if _, err := client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 800 {
		put(clientv3.OpPut(fmt.Sprint("large/", i), strings.Repeat("x", 1<<20)))
	}
	for i := range 12_000 {
		var ops []clientv3.Op
		for j := range 100 {
			ops = append(ops, clientv3.OpPut(fmt.Sprintf("small/%d/%d", i, j), strings.Repeat("y", 150)))
		}
		put(ops...)
	}
	b.Leader(t).Kill()
	b.Leader(t)
	b.NewWriter(t, etcdtest.WriterOptions{})
	s := newSnapshots(t, b)
	s.Env = append(s.Env, "GOGC=100") // as users run it
	largest := int64(0)
	watched := func(r *acctest.Running) *acctest.Outcome {
		for !r.Ended() {
			for _, pid := range r.Providers() {
				largest = max(largest, highWater(pid))
			}
		}
		return r.Wait()
	}
	watched(s.Start("apply")).MustSucceed().MustBeQuiet()
	t.Logf("the provider had %d MiB at most", largest>>20)
	status, _ := s.mustHold("etcd.db")
	at, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithRev(status.Revision))
	if err != nil || at.Count != status.TotalKey || status.TotalSize < 1<<30 {
		t.Errorf("%+v, and at that revision there are %v keys, %v", status, at, err)
	}
	watched(s.Begin("plan", "-input=false", "-detailed-exitcode")).MustSucceed()
	if largest == 0 || largest > most {
		t.Errorf("the provider had %d MiB at most, want no more than %d", largest>>20, most>>20)
	}
}

// highWater returns the peak memory of a process in bytes, or 0 if it has ended.
func highWater(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
