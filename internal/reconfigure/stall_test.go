// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A learner that makes no progress is given up after a while, but not while the
// leader sends it a snapshot, however long that takes.
func TestStallClockStandsStillDuringASnapshot(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 1, etcdtest.Options{Version: v, Links: true, Env: map[string]string{
				"ETCD_SNAPSHOT_COUNT": "50", catchUpEntries(v): "10",
			}})
			d := b.NewJoiner(t, "d")
			d.Supervise(100 * time.Millisecond)
			r := request(d, reconfigure.Started)
			joined, err := b.engine.Join(etcdtest.WaitContext(t), r)
			if err != nil {
				t.Fatal(err)
			}

			t.Log("it misses so much that it needs a snapshot, which does not get through")
			d.PowerOff()
			client := b.Client(t)
			for i := range 300 {
				if _, err := client.Put(etcdtest.WaitContext(t), fmt.Sprint("key", i), "value"); err != nil {
					t.Fatal(err)
				}
			}
			d.PeerLink().Cut()
			d.Supervise(100 * time.Millisecond)
			leader := membership.MemberID(b.MemberID(t, b.Members()[0]))
			sending := func() bool {
				is, err := b.engine.Cluster.Sending(etcdtest.WaitContext(t), leader, joined.Member.ID)
				return err == nil && is
			}
			etcdtest.Until(t, "the leader sends a snapshot", sending)
			r.Goal, r.StallTimeout = reconfigure.Voting, 5*time.Second
			result := make(chan error, 1)
			go func() {
				_, err := b.engine.Join(etcdtest.WaitContext(t), r)
				result <- err
			}()
			select {
			case err := <-result:
				t.Fatalf("it was given up, or joined: %v", err)
			case <-time.After(2 * r.StallTimeout):
			}
			d.PeerLink().Heal()
			if err := <-result; err != nil {
				t.Fatal(err)
			}
			if sending() {
				t.Error("the leader still sends a snapshot")
			}
		})
	}
}

// catchUpEntries returns the variable with the number of entries that a leader
// keeps for lagging members.
func catchUpEntries(v etcdtest.Version) string {
	if v == etcdtest.V35 {
		return "ETCD_EXPERIMENTAL_SNAPSHOT_CATCHUP_ENTRIES"
	}
	return "ETCD_SNAPSHOT_CATCHUP_ENTRIES"
}

// A learner that is cut off and gets no snapshot is given up.
func TestStalled(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.Started)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	d.Freeze()
	r.Goal, r.StallTimeout = reconfigure.Voting, time.Second
	_, err := b.engine.Join(etcdtest.WaitContext(t), r)
	var late *reconfigure.Incomplete
	if !errors.As(err, &late) || !late.Stalled {
		t.Errorf("got %v", err)
	}
	d.Thaw()
	if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
		t.Error(err)
	}
}
