// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

func (w *world) listed(name string) string {
	for _, listed := range w.cluster.Members() {
		if listed.Name == name {
			return listed.PeerURLs[0]
		}
	}
	return ""
}

// restart starts the process of a member again, at its own URL or another one.
func (w *world) restart(name, url string) {
	w.members[name].PowerOff()
	if url != "" {
		w.members[name].PeerURL = url
	}
	w.must(w.members[name].Start())
	w.rest(10 * time.Second)
}

func (w *world) records() int {
	return len(slices.DeleteFunc(w.keys(), func(k string) bool { return !strings.Contains(k, "/peer_urls/") }))
}

// statement returns what the refusal of a change asks the operator to state.
func (w *world) statement() string {
	w.Helper()
	for _, p := range w.cluster.Processes() {
		c := w.network.Run("test").Client(p.ClientURL, p.ClientURL)
		for _, key := range w.keys() {
			if got, err := c.Get(w.Context(), key); err == nil && strings.Contains(key, "/peer_urls/") && len(got.Kvs) == 1 {
				return fmt.Sprintf("%s:%d", key[strings.LastIndex(key, "/")+1:], got.Kvs[0].ModRevision)
			}
		}
	}
	w.Fatal("there is no record")
	return ""
}

// Wherever a run is killed, a change that was made is on record, and nothing else keeps the
// next one from being made.
func TestPendingPeerURLsKilled(t *testing.T) {
	t.Parallel()
	moments := 0
	for n := 1; n < 200; n++ {
		over := false
		simulate(t, 1, "a b c", func(w *world) {
			s := newScript(w)
			s.play("adopted a b c")
			ctx, end := context.WithCancel(w.Context())
			defer end()
			seen := 0
			pass := func(call etcdsim.Call, err error) error {
				_, moved := call.Request.(*pb.MemberUpdateRequest)
				if !strings.HasPrefix(call.Run, "killed.") || !moved && !changes(call.Request) && !writes(call.Request) {
					return err
				}
				if seen++; seen >= n {
					end()
					return errKilled
				}
				return err
			}
			before := w.network.Before
			w.network.Before = func(c context.Context, call etcdsim.Call) error { return pass(call, before(c, call)) }
			w.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error { return pass(call, err) }
			s.play(`give etcd_member.a peer_urls ["http://a.example:3380"]`)
			_, r := s.ws.Up(ctx, s.start("killed"))
			over = r.Err() == nil
			w.rest(2 * claim.LockTTL)
			moved := s.listed("a") == "http://a.example:3380"
			if !moved {
				s.play(`give etcd_member.a peer_urls ["http://a.example:2380"]`)
			}
			s.play(`give etcd_member.b peer_urls ["http://b.example:3380"]`)
			if moved {
				s.play("apply => pending")
				s.play("at b http://b.example:2380")
			} else {
				s.play("apply")
			}
		})
		if moments = n; over || t.Failed() {
			break
		}
	}
	if moments < 6 {
		t.Errorf("%d moments", moments)
	}
}
