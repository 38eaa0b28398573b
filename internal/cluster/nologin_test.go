// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// With a password, a cluster without quorum answers nothing, not even a list,
// because no login completes. The error says that about the survivor, after one
// request timeout instead of one for each endpoint. (3.4 gives the list without
// a login.)
func TestNoLoginWithoutAQuorum(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 5, etcdtest.Options{Version: v, Password: "s3cret"})
		s := settings(b.Endpoints()...)
		s.Username, s.Password, s.RequestTimeout = "root", connection.Secret("s3cret"), 4*time.Second
		want := map[string]connection.Kind{}
		for i, m := range b.Members() {
			want[m.ClientURL()] = connection.NoLogin
			if i > 1 {
				m.Kill()
				want[m.ClientURL()] = connection.Refused
			}
		}
		_, err := clientFor(t, s).Observe(t.Context(), 0)
		var gone *connection.Unreachable
		if !errors.As(err, &gone) || len(gone.Answers) != len(want) {
			t.Fatalf("got %v, want the answers of five", err)
		}
		for _, e := range gone.Answers {
			if kind := connection.KindOf(e.Err); kind != want[e.Endpoint] {
				t.Errorf("%s: %q (%v), want %q", e.Endpoint, kind, e.Err, want[e.Endpoint])
			}
		}
		if TurnedAway(err) || MayServe(err) {
			t.Errorf("turned away: %v; may serve: %v", TurnedAway(err), MayServe(err))
		}
	})
}

// A learner accepts no login, and sends a snapshot to a user who logged in at a voter.
func TestSnapshotOfALearnerWithAPassword(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Password: "s3cret"})
		learner := b.AddLearner(t, "d")
		s := settings(append(b.Endpoints(), learner.ClientURL())...)
		s.Username, s.Password = "root", connection.Secret("s3cret")
		c := clientFor(t, s)
		observe(t, c)
		var got bytes.Buffer
		if err := c.Snapshot(etcdtest.WaitContext(t), membership.MemberID(b.MemberID(t, learner)), time.Minute, &got); err != nil || got.Len() == 0 {
			t.Errorf("%d bytes, %v", got.Len(), err)
		}
	})
}
