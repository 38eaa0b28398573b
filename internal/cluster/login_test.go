// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

const password = "s3cret"

// as returns the settings of a user.
func as(user string, password connection.Secret, endpoints ...string) connection.Settings {
	s := settings(endpoints...)
	s.Username, s.Password = user, password
	return s
}

// A learner accepts no login, and sends a snapshot to a user who logged in at a voter.
func TestSnapshotOfALearnerWithAPassword(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Password: password})
		learner := b.AddLearner(t, "d")
		c := clientFor(t, as("root", password, append(b.Endpoints(), learner.ClientURL())...))
		observe(t, c)
		var got bytes.Buffer
		if err := c.Snapshot(etcdtest.WaitContext(t), membership.MemberID(b.MemberID(t, learner)), time.Minute, &got); err != nil || got.Len() == 0 {
			t.Errorf("%d bytes, %v", got.Len(), err)
		}
	})
}

// A user without permission to read keys sees the same of a cluster as root. The reason: a
// server confirms with the quorum first, and checks the permission after that. So a denied
// read was served, and a member without a quorum never answers that the permission is missing.
// To one who logs in then, it answers nothing, not even a list, because no login completes,
// and the error says that about the survivor. (3.4 gives the list without a login.)
func TestUserWithAndWithoutAQuorum(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 3, etcdtest.Options{Version: v, Password: password})
		if out, err := b.Etcdctl("user", "add", "viewer:look"); err != nil {
			t.Fatal(out, err)
		}
		c := clientFor(t, as("viewer", "look", b.Endpoints()...))
		if snap := observe(t, c); !snap.Healthy() || !snap.Linearizable || snap.FailureTolerance() != 1 {
			t.Errorf("healthy %v, confirmed %v: %+v", snap.Healthy(), snap.Linearizable, snap.Answers)
		}
		read := func() error {
			return c.call(t.Context(), b.Endpoints()[0], func(ctx context.Context, cl *clientv3.Client) error {
				_, err := cl.Get(ctx, membership.MetadataPrefix, clientv3.WithCountOnly())
				return err
			})
		}
		etcdtest.Eventually(t, "with a quorum the permission is denied", func() error {
			if err := read(); !errors.Is(err, rpctypes.ErrPermissionDenied) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		want := map[string]connection.Kind{b.Endpoints()[0]: connection.NoLogin}
		for _, other := range b.Members()[1:] {
			other.Kill()
			want[other.ClientURL()] = connection.Refused
		}
		if err := read(); err == nil || errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty) {
			t.Errorf("without a quorum: %v, want no answer in time", err)
		}
		if v == etcdtest.V34 {
			return
		}
		_, err := clientFor(t, as("root", password, b.Endpoints()...)).Observe(t.Context(), 0)
		var gone *connection.Unreachable
		if !errors.As(err, &gone) || len(gone.Answers) != len(want) || TurnedAway(err) || MayServe(err) {
			t.Fatalf("got %v, want the answers of three", err)
		}
		for _, e := range gone.Answers {
			if kind := connection.KindOf(e.Err); kind != want[e.Endpoint] {
				t.Errorf("%s: %q (%v), want %q", e.Endpoint, kind, e.Err, want[e.Endpoint])
			}
		}
	})
}

// A full database is smaller after its defragmentation, which needs the role root.
func TestDefragmentWhenFull(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Env: map[string]string{"ETCD_QUOTA_BACKEND_BYTES": "4194304"}, Password: password})
		for _, command := range []string{"role add app", "role grant-permission app --prefix=true readwrite /", "user add app:pw", "user grant-role app app"} {
			_, err := b.Etcdctl(strings.Fields(command)...)
			must.Succeed(t, err)
		}
		c, client, ctx := clientFor(t, as("root", password, b.Endpoints()...)), b.Client(t), etcdtest.WaitContext(t)
		snap := observe(t, c)
		m := snap.Members[0]
		app := clientFor(t, as("app", "pw", b.Endpoints()...))
		observe(t, app)
		if err := app.Defragment(ctx, m.ID, time.Minute); !connection.IsDenied(err) {
			t.Errorf("a user with a role for all keys: %v", err)
		}
		var last *clientv3.PutResponse
		var err error
		for put := last; err == nil; put, err = client.Put(ctx, "key", strings.Repeat("x", 32<<10)) {
			last = put
		}
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Fatalf("the database never filled: %v", err)
		}
		_, err = client.Compact(ctx, last.Header.Revision)
		must.Succeed(t, err)
		before := c.Member(ctx, m, snap.ClusterID).DBSize
		must.Succeed(t, c.Defragment(ctx, m.ID, time.Minute))
		if after := c.Member(ctx, m, snap.ClusterID).DBSize; after == 0 || after > before/2 {
			t.Errorf("%d bytes, after %d", after, before)
		}
	})
}

// The observation has the end of the certificate that the member presents. A renewed one is
// presented without a restart.
func TestCertificateIsRenewedInPlace(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		pki := etcdtest.NewPKI(t)
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, TLS: pki})
		s := settings(b.Endpoints()...)
		s.TLS = pki.ClientConfig(pki.Client("run"))
		left := func() time.Duration {
			end := observe(t, clientFor(t, s)).Answer(membership.MemberID(b.MemberID(t, b.Members()[0]))).CertificateEnd
			return time.Until(end)
		}
		if d := left(); d <= 0 || d > 24*time.Hour {
			t.Errorf("valid for %s", d)
		}
		pki.Renew()
		if d := left(); d <= 24*time.Hour || d > 48*time.Hour {
			t.Errorf("renewed, and valid for %s", d)
		}
	})
}
