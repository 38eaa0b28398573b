// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The record of the etcd_cluster is what was written last. What this version does not
// write is an error that names the key.
func TestObjectRecord(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(b.Endpoints()...))
	id := observe(t, c).ClusterID
	records, ctx := c.ObjectRecords(id), t.Context()
	if r, _, err := records.Get(ctx, ""); err != nil || r != (ObjectRecord{}) {
		t.Errorf("at first: %+v, %v", r, err)
	}
	since := time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC)
	for _, object := range []string{"cluster-a", "cluster-b"} {
		if _, err := records.Put(ctx, ObjectRecord{Object: object, By: "bob\x1b@ops1", Since: since}); err != nil {
			t.Fatal(err)
		}
		if r, _, err := records.Get(ctx, ""); err != nil || r.Object != object || r.By != `"bob\x1b@ops1"` || !r.Since.Equal(since.Truncate(time.Second)) {
			t.Errorf("%s: %+v, %v", object, r, err)
		}
	}
	key := membership.MetadataPrefix + id.String() + "/cluster"
	for value, newer := range map[string]bool{
		``: false, `x`: false, `{}`: false, `{"format":1,"object":"a\nb","by":"x","since":"2026-11-22T01:02:03Z"}`: false,
		`{"format":2,"object":"a","by":"x","since":"2026-11-22T01:02:03Z"}`: true,
	} {
		if _, err := b.Client(t).Put(ctx, key, value); err != nil {
			t.Fatal(err)
		}
		_, _, err := records.Get(ctx, "")
		var bad *Malformed
		if !errors.As(err, &bad) || bad.Key != key || bad.Newer != newer || bad.Kind != objectKind.what {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, _, err := c.ObjectRecords(0).Get(ctx, ""); !errors.Is(err, membership.ErrNoClusterID) {
		t.Errorf("without an ID: %v", err)
	}
}
