// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// With a password, a cluster without quorum answers nothing, not even a list,
// because no login completes. The error says that about the survivor, after one
// request timeout instead of one for each endpoint. (3.4 gives the list without
// a login.)
func TestNoLoginWithoutAQuorum(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
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
			if TurnedAway(err) || !Answered(err) || MayServe(err) {
				t.Errorf("turned away: %v; answered: %v; may serve: %v", TurnedAway(err), Answered(err), MayServe(err))
			}
		})
	}
}
