// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

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

// Test that users, roles and leases are restored. A lease has its full time to
// live again and then expires. Without a quorum no login is possible, so the
// snapshot is from a copy of the survivor's data, as in the guide.
func TestRestoredUsersAndLeases(t *testing.T) {
	t.Parallel()
	const password = "correct horse"
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		old := etcdtest.Start(t, 2, etcdtest.Options{Version: v, Password: password})
		client, ctx := old.Client(t), etcdtest.WaitContext(t)
		_, err1 := client.RoleAdd(ctx, "app")
		_, err2 := client.RoleGrantPermission(ctx, "app", "app/", clientv3.GetPrefixRangeEnd("app/"), clientv3.PermissionType(clientv3.PermReadWrite))
		_, err3 := client.UserAdd(ctx, "joe", password)
		_, err4 := client.UserGrantRole(ctx, "joe", "app")
		lease, err5 := client.Grant(ctx, 8)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(ctx, "app/leased", "value", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
		survivor, other := old.Members()[0], old.Members()[1]
		if _, err := survivor.Client(t).Get(ctx, "app/leased"); err != nil { // the survivor has it now
			t.Fatal(err)
		}
		other.PowerOff()
		survivor.PowerOff()
		alone := etcdtest.NewProcess(t, etcdtest.Options{Name: "copy", Version: v, Password: password, Args: []string{"--force-new-cluster"}})
		if err := os.CopyFS(alone.Dir(), os.DirFS(survivor.Dir())); err != nil {
			t.Fatal(err)
		}
		alone.Start()
		ready(t, alone)
		file, sum := save(t, alone.Client(t))
		alone.PowerOff()

		a := etcdtest.NewProcess(t, etcdtest.Options{Name: "a", Version: v, Password: password})
		now := time.Now().Unix()
		maps.Copy(a.Env, map[string]string{
			"ETCD_INITIAL_CLUSTER": "a=" + a.PeerURL(), "ETCD_INITIAL_CLUSTER_STATE": "new", "ETCD_INITIAL_CLUSTER_TOKEN": strings.ReplaceAll(t.Name(), "/", "-"),
			WindowVariable: fmt.Sprintf("%d-%d", now, now+3600),
		})
		restores(t, sh, a, file, sum)
		a.Supervise(supervised)
		ready(t, a)
		root := a.Client(t)
		if got, err := root.Get(ctx, "app/leased"); err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease != int64(lease.ID) {
			t.Errorf("under the lease are %v, %v", got, err)
		}
		if left, err := root.TimeToLive(ctx, lease.ID); err != nil || left.GrantedTTL != lease.TTL || left.TTL <= 0 {
			t.Errorf("the lease is %+v, %v", left, err)
		}
		as := func(user, password string) (*clientv3.Client, error) {
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{a.ClientURL()}, Username: user, Password: password, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
			}
			return c, err
		}
		joe, err := as("joe", password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := joe.Put(ctx, "app/x", "value"); err != nil {
			t.Error(err)
		}
		if _, err := joe.Put(ctx, "other", "value"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("joe writes elsewhere: %v", err)
		}
		if _, err := as("joe", "wrong"); !errors.Is(err, rpctypes.ErrAuthFailed) {
			t.Errorf("joe logs in with another password: %v", err)
		}
		if nobody, err := as("", ""); err != nil {
			t.Error(err)
		} else if _, err := nobody.Get(ctx, "app/x"); !errors.Is(err, rpctypes.ErrUserEmpty) {
			t.Errorf("somebody without a user name reads: %v", err)
		}
		etcdtest.Eventually(t, "the lease ends", func() error {
			got, err := root.Get(ctx, "app/leased")
			if err == nil && len(got.Kvs) > 0 {
				err = errors.New("its key is still there")
			}
			return err
		})
	})
}
