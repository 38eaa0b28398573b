// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"os/exec"
	"slices"
)

// Database returns an etcd database that contains keys, which must be few and short.
// Each key is put once, starting at revision 2. The database has three pages of 4 KiB.
func Database(keys ...string) []byte {
	const pageSize = 4096
	order := binary.LittleEndian
	db := make([]byte, 3*pageSize)
	leaf := func(page []byte, id uint64, flags uint32, entries [][2]string) {
		order.PutUint64(page, id)
		order.PutUint16(page[8:], 2) // a leaf
		order.PutUint16(page[10:], uint16(len(entries)))
		at := 16 + 16*len(entries)
		for i, e := range entries {
			element := page[16+16*i:]
			for j, n := range []int{int(flags), at - 16 - 16*i, len(e[0]), len(e[1])} {
				order.PutUint32(element[4*j:], uint32(n))
			}
			at += copy(page[at:], e[0]+e[1])
		}
	}
	var changes [][2]string
	for i, key := range keys {
		revision := binary.BigEndian.AppendUint64(nil, uint64(i+2))
		changes = append(changes, [2]string{string(revision) + "_" + string(make([]byte, 8)), "\x0a" + string(rune(len(key))) + key})
	}
	bucket := make([]byte, 2048)
	leaf(bucket[16:], 0, 0, changes) // within the entry of the bucket
	leaf(db[2*pageSize:], 2, 1, [][2]string{{"key", string(bucket)}})
	for id := range 2 {
		page := db[id*pageSize:]
		order.PutUint64(page, uint64(id))
		order.PutUint16(page[8:], 4) // a meta page
		meta := page[16:]
		for i, n := range []uint32{0xED0CDAED, 2, pageSize, 0} {
			order.PutUint32(meta[4*i:], n)
		}
		for i, n := range []uint64{2, 0, ^uint64(0), 3, uint64(4 - id)} { // root, sequence, no free list, pages, transaction
			order.PutUint64(meta[16+8*i:], n)
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:56])
		order.PutUint64(meta[56:], sum.Sum64())
	}
	return db
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
