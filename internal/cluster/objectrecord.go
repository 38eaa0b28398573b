// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"time"
)

// ObjectRecord says which etcd_cluster changes the nodes of the cluster. The cluster has
// one, at <metadata prefix><cluster ID>/cluster.
type ObjectRecord struct {
	// Object is the id of the etcd_cluster. It is "" if there is no record.
	Object string `json:"object"`
	// By wrote the record at the time Since. Both are for display.
	By    string    `json:"by"`
	Since time.Time `json:"since"`
}

// ObjectRecords stores the [ObjectRecord] of one cluster in the cluster itself.
type ObjectRecords interface {
	// Get returns the record. The error is a [*Malformed] if the key holds something else.
	Get(ctx context.Context) (ObjectRecord, error)
	// Put writes the record, in place of the one that is there.
	Put(ctx context.Context, r ObjectRecord) error
}

type clusterRecords struct{ metadata }

// storedCluster is the stored form of a [ObjectRecord].
type storedCluster struct {
	Format int `json:"format"`
	ObjectRecord
}

func (s clusterRecords) Get(ctx context.Context) (ObjectRecord, error) {
	kvs, err := s.list(ctx)
	if err != nil || len(kvs) == 0 {
		return ObjectRecord{}, err
	}
	var r storedCluster
	err = read(kindCluster, kvs[0], &r, &r.Format, func() error {
		return cmp.Or(plain("the object", r.Object), plain("the author", r.By))
	})
	if err != nil {
		return ObjectRecord{}, err
	}
	return r.ObjectRecord, nil
}

func (s clusterRecords) Put(ctx context.Context, r ObjectRecord) error {
	r.By, r.Since = displayed(r.By, r.Since)
	return s.put(ctx, "", storedCluster{format, r})
}
