// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Named formats members as diagnostics do, in the order of their IDs, which is
// the order of the member list.
func (f *Fleet) Named(names ...string) string {
	f.TB.Helper()
	var out []string
	for _, m := range f.Members() {
		if slices.Contains(names, m.Name) {
			out = append(out, fmt.Sprintf("%s (%x)", m.Name, m.ID))
		}
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// MemberID returns the ID of the listed member with that name.
func (f *Fleet) MemberID(name string) uint64 {
	f.TB.Helper()
	for _, m := range f.Members() {
		if m.Name == name {
			return m.ID
		}
	}
	f.TB.Fatalf("no member %s", name)
	return 0
}

// MustServe waits until a member answers a linearizable read.
func (f *Fleet) MustServe(name string) {
	f.TB.Helper()
	client := f.Client(name)
	etcdtest.Eventually(f.TB, name+" serves", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := client.Get(ctx, "acctest")
		return err
	})
}

// MemberIDs returns the members' IDs by name.
func (f *Fleet) MemberIDs() map[string]uint64 {
	f.TB.Helper()
	out := map[string]uint64{}
	for _, m := range f.Members() {
		out[m.Name] = m.ID
	}
	return out
}

// MustHaveReplaced fails the test unless exactly the IDs of these members have
// changed.
func (f *Fleet) MustHaveReplaced(before map[string]uint64, names ...string) {
	f.TB.Helper()
	for name, id := range f.MemberIDs() {
		if (before[name] != id) != slices.Contains(names, name) {
			f.TB.Errorf("%s was %x and is %x; only %v were to be replaced", name, before[name], id, names)
		}
	}
}
