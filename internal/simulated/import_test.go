// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func (s *site) take(address, id string) driver.Result {
	return s.ws.Import(s.Context(), s.start("import "+address), address, id)
}

// clusterID is the ID of the cluster in hexadecimal.
func (w *world) clusterID() string {
	w.Helper()
	url := w.cluster.Processes()[0].ClientURL
	list, err := w.network.Run("test").As("root").Client(url, url).MemberList(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return membership.ClusterID(list.Header.ClusterId).String()
}

// watch returns what fails the test if a call was made in the meantime that changes the
// membership, or a process has ended.
func (s *site) watch(what string) (end func()) {
	var calls []string
	before := s.network.Before
	s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		switch c.Request.(type) {
		case *pb.MemberAddRequest, *pb.MemberRemoveRequest, *pb.MemberUpdateRequest, *pb.MemberPromoteRequest:
			calls = append(calls, c.Run)
		}
		return before(ctx, c)
	}
	was := s.ids()
	return func() {
		s.Helper()
		s.network.Before = before
		if now := s.ids(); len(calls) > 0 || !equal(was, now) {
			s.Errorf("%s: calls %v, members %v, before %v", what, calls, now, was)
		}
	}
}

func equal(a, b map[string]uint64) bool {
	for name, id := range a {
		if b[name] != id {
			return false
		}
	}
	return len(a) == len(b)
}

// set gives the etcd_cluster an argument.
func (s *site) set(argument string, value any) { s.ws.Resources[0].Values[argument] = value }

func (s *site) up(what string, opts ...driver.Option) driver.Result {
	_, r := s.ws.Up(s.Context(), s.start(what), opts...)
	return r
}

// fails fails the test unless the result is an error with the words.
func (w *world) fails(what string, r driver.Result, words ...string) {
	w.Helper()
	for _, word := range words {
		if r.Err() == nil || !strings.Contains(r.Err().Error(), word) {
			w.Errorf("%s: got %v, want an error with %q", what, r.Err(), word)
		}
	}
}
