// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Test the survivor of a lost quorum that still runs. The new members wait
// while it occupies the place of one of them. If it returns later, it can
// neither join nor split their cluster.
func TestRestoredClusterAndTheSurvivor(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := staticFounders(t, sh, v, 3)
		a, b, c := members[0], members[1], members[2]
		a.Supervise(supervised)
		b.Supervise(supervised)
		c.Supervise(supervised)
		ready(t, a, b, c)
		ctx := etcdtest.WaitContext(t)
		client := a.Client(t)
		if _, err := client.Put(ctx, "kept", "value"); err != nil {
			t.Fatal(err)
		}
		was, err := client.MemberList(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*etcdtest.Process{a, c} {
			p.PowerOff()
			p.Wipe()
		}
		file, sum := save(t, b.Client(t))
		for _, p := range members {
			p.Env["ETCD_INITIAL_CLUSTER_TOKEN"] += "-restored"
			restores(t, sh, p, file, sum)
		}
		starts := a.Starts() + c.Starts()
		a.Supervise(supervised)
		c.Supervise(supervised)
		for _, p := range []*etcdtest.Process{a, c} {
			logged(t, p, "etcd-join: only 1 of its 2 other voters give the same list of members")
		}
		if now := a.Starts() + c.Starts(); now != starts {
			t.Fatalf("etcd was started %d times while the survivor runs", now-starts)
		}

		// Its machine is replaced.
		b.PowerOff()
		old := b.Dir() + ".old"
		if err := os.Rename(b.Dir(), old); err != nil {
			t.Fatal(err)
		}
		b.Supervise(supervised)
		ready(t, a, b, c)
		client = a.Client(t)
		oneCluster(t, 3, client, a, b, c)
		now, err := client.MemberList(ctx)
		if err != nil || now.Header.ClusterId == was.Header.ClusterId {
			t.Fatalf("the restored cluster has the ID of the old one, %x (%v)", was.Header.ClusterId, err)
		}

		// It returns in the place of a new member, with its old data.
		b.PowerOff()
		restored := b.Dir() + ".restored"
		if err := errors.Join(os.Rename(b.Dir(), restored), os.Rename(old, b.Dir())); err != nil {
			t.Fatal(err)
		}
		script := b.PreStart
		b.PreStart = nil
		refused := strings.Count(b.Log(), "cluster ID mismatch")
		b.Start()
		etcdtest.Eventually(t, "the old member is refused", func() error {
			if !b.Running() {
				return fmt.Errorf("it ended with %d", b.ExitCode())
			}
			if n := strings.Count(b.Log(), "cluster ID mismatch"); n < refused+3 {
				return fmt.Errorf("%d times", n-refused)
			}
			return nil
		})
		// It may have been the leader, so wait until the others have elected a leader.
		etcdtest.Eventually(t, "the others take a write", func() error {
			_, err := client.Put(ctx, "later", "value")
			return err
		})
		after, err := client.MemberList(ctx)
		if err != nil || fmt.Sprint(after.Members) != fmt.Sprint(now.Members) {
			t.Errorf("the members were %v and are %v (%v)", now.Members, after.Members, err)
		}
		// Without a leader it does not serve clients.
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if status, err := b.Client(t).Status(one, b.ClientURL()); err == nil {
			t.Errorf("the survivor serves clients: %v", status)
		}
		b.PowerOff()
		if err := errors.Join(os.Rename(b.Dir(), old), os.Rename(restored, b.Dir())); err != nil {
			t.Fatal(err)
		}
		b.PreStart = script
		b.Supervise(supervised)
		ready(t, b)
		if got, err := b.Client(t).Get(ctx, "later"); err != nil || len(got.Kvs) != 1 {
			t.Errorf("b has %v, %v", got, err)
		}
	})
}
