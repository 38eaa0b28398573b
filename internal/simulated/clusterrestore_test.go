// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// restoreOf is the restore that replaces a cluster.
func restoreOf(cluster string, gone ...any) driver.Values {
	return driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64), "replaces_cluster": cluster, "gone": gone}
}

func (s *site) id() string {
	return driver.Attribute(s.ws.State("etcd_cluster.this").Value, "cluster_id")
}

// restored fails the test unless the cluster of the state serves, is another one than
// the lost cluster, and the plan is empty.
func (s *site) restored(lost string) {
	s.Helper()
	s.empty("restored")
	s.expect("members", s.list(), "a b c")
	if id := fmt.Sprintf("%x", s.cluster.Members()[0].ID); s.id() == lost || id == "" {
		s.Errorf("cluster %s, lost %s", s.id(), lost)
	}
	for _, name := range []string{"a", "b", "c"} {
		if at := driver.Attribute(s.ws.State(`etcd_member.node["`+name+`"]`).Value, "cluster_id"); at != s.id() {
			s.Errorf("%s is a member of cluster %s, not of %s", name, at, s.id())
		}
	}
}

// stuck is a cloud that destroys the machine of a, and no other.
type stuck struct{ *fleet }

func (s stuck) Destroy(ctx context.Context, id string) error {
	if !strings.HasPrefix(id, "a-") {
		return fmt.Errorf("%s is stuck", id)
	}
	return s.fleet.Destroy(ctx, id)
}

// A restore that is killed at any request goes on with the same configuration, or with the
// line that the error prints.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	step := 43
	if etcdtest.Full() {
		step = 1
	}
	for kill, done := 1, false; !done; kill += step {
		simulate(t, 8, "", func(w *world) {
			s := newScript(w)
			for _, line := range []string{"nodes a b c", "apply", "let id cluster", "stop b c", "wait 1m", "restore $id b c"} {
				s.play(line)
			}
			ctx, end := context.WithCancel(s.Context())
			defer end()
			killed, at := false, w.calls+kill
			w.each = func(run string) error {
				if w.calls >= at && !killed {
					killed = true
					end()
				}
				if killed && strings.HasPrefix(run, "killed") {
					return errKilled
				}
				return nil
			}
			_, r := s.ws.Up(ctx, s.start("killed"))
			s.rest(time.Minute)
			if done = !killed; done {
				s.ok(r)
			} else if s.play("try apply"); s.said.Err() != nil {
				s.says(fmt.Sprint("killed at ", kill), s.said, `gone = ["a", "b", "c"]`)
				s.play("restore $id a b c")
				s.play("apply")
			}
			s.play("restored $id")
		})
	}
}
