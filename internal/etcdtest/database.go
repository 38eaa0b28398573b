// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Database returns an etcd database that contains keys. Each key is put once, starting
// at revision 2.
func Database(keys ...string) []byte {
	changes := map[string]string{}
	for i, key := range keys {
		value := protowire.AppendTag(nil, 1, protowire.BytesType)
		changes[Revision(int64(i+2), 0)] = string(protowire.AppendString(value, key))
	}
	return Bolt(map[string]map[string]string{"key": changes})
}

// Revision returns the key of a change in an etcd database.
func Revision(main, sub int64) string {
	key := binary.BigEndian.AppendUint64(nil, uint64(main))
	return string(binary.BigEndian.AppendUint64(append(key, '_'), uint64(sub)))
}

// Snapshot returns a snapshot of such a database, followed by its hash.
func Snapshot(keys ...string) []byte {
	db := Database(keys...)
	hash := sha256.Sum256(db)
	return slices.Concat(db, hash[:])
}

// SnapshotStatus is the output of etcdutl snapshot status.
type SnapshotStatus struct {
	Revision, TotalKey, TotalSize int64
}

// EtcdutlStatus runs etcdutl snapshot status on the file at path. etcdutl reads
// the whole database; the test fails unless it is consistent.
func EtcdutlStatus(tb TB, path string) (out SnapshotStatus) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, EtcdutlBinary(tb, V36), "snapshot", "status", path, "--write-out=json").Output()
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			text = ended.Stderr
		}
		tb.Fatalf("etcdtest: etcdutl snapshot status %s: %v\n%s", path, err, text)
	}
	return out
}
