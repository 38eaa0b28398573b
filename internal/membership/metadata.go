// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "errors"

// ErrNoClusterID means that a key was requested before the cluster ID was known.
var ErrNoClusterID = errors.New("the cluster ID is not known")

// MetadataPrefix is the prefix of the provider's keys in a cluster: the lock,
// ownership records and turns.
const MetadataPrefix = "/_terraform/etcd/"

// MetadataKey returns the key of data that the provider keeps about a cluster in
// that cluster, below [MetadataPrefix]: "<prefix><cluster ID>/<name>". The ID is part of every key: a
// cluster that is restored from a backup has another ID, and the records, turns
// and locks in the backup must not apply to it. The error is [ErrNoClusterID] if
// the ID is 0.
func MetadataKey(id ClusterID, name string) (string, error) {
	if id == 0 {
		return "", ErrNoClusterID
	}
	return MetadataPrefix + id.String() + "/" + name, nil
}
