// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// hashSize is the size of the hash that follows the database in a snapshot.
const hashSize = 32

// TestAsEtcdutlReadsIt compares Read with etcdutl for every version of etcd: puts,
// deletions, several changes in one transaction, keys that are deleted and put
// again, long names and values, a compaction; also if the keys are counted in parts.
func TestAsEtcdutlReadsIt(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v})
			client := b.Client(t)
			put := func(key, value string) {
				t.Helper()
				if _, err := client.Put(t.Context(), key, value); err != nil {
					t.Fatal(err)
				}
			}
			mustRead(t, client, "empty")
			put("only", "one") // within the entry of its bucket
			mustRead(t, client, "one key")
			for i := range 30 {
				var ops []clientv3.Op
				for j := range 100 {
					ops = append(ops, clientv3.OpPut(fmt.Sprintf("k/%d/%d", i, j), strings.Repeat("v", i)))
				}
				if _, err := client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
					t.Fatal(err)
				}
			}
			put("large", strings.Repeat("x", 1<<20))
			put(strings.Repeat("long", 64<<10), "name") // longer than any page
			for i := range 5 {
				if _, err := client.Delete(t.Context(), fmt.Sprintf("k/%d/", i), clientv3.WithPrefix()); err != nil {
					t.Fatal(err)
				}
			}
			put("k/0/0", "is back")
			put("only", "two")
			mustRead(t, client, "many")
			resp, err := client.Get(t.Context(), "only")
			if err == nil {
				_, err = client.Compact(t.Context(), resp.Header.Revision-3, clientv3.WithCompactPhysical())
			}
			if err != nil {
				t.Fatal(err)
			}
			mustRead(t, client, "compacted")
		})
	}
}

func mustRead(t *testing.T, client *clientv3.Client, what string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	stream, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	status := etcdtest.EtcdutlStatus(t, path)
	want := Contents{Revision: status.Revision, Keys: status.TotalKey}
	size := int64(len(text) - hashSize)
	got, err := Read(t.Context(), bytes.NewReader(text), size)
	if err != nil || got != want || status.TotalSize != size {
		t.Errorf("%s: %+v, %v; etcdutl reads %+v", what, got, err, status)
	}
	r := &reader{ctx: t.Context(), file: bytes.NewReader(text), size: size, atOnce: 7}
	if got, err := r.contents(); err != nil || got != want {
		t.Errorf("%s, in parts: %+v, %v; etcdutl reads %+v", what, got, err, status)
	}
}

// TestMalformed checks that other files and forged databases soon return an error.
func TestMalformed(t *testing.T) {
	t.Parallel()
	const page = 4096
	order := binary.LittleEndian
	sealed := func(db []byte) []byte {
		sum := fnv.New64a()
		_, _ = sum.Write(db[headSize:][:summed])
		order.PutUint64(db[headSize+summed:], sum.Sum64())
		return db
	}
	meta := func(f func(meta []byte)) func([]byte) []byte {
		return func(db []byte) []byte { f(db[headSize:]); return sealed(db) }
	}
	root := func(f func(root []byte)) func([]byte) []byte {
		return func(db []byte) []byte { f(db[2*page:]); return db }
	}
	inline := int(order.Uint32(etcdtest.Database("a")[2*page+headSize+4:])) + headSize + len("key") + headSize
	change := func(f func(bucket []byte)) func([]byte) []byte {
		return root(func(root []byte) { f(root[inline:]) })
	}
	for name, forge := range map[string]func(db []byte) []byte{
		"nothing":              func([]byte) []byte { return nil },
		"a text":               func([]byte) []byte { return bytes.Repeat([]byte("no database\n"), 4096) },
		"zeros":                func(db []byte) []byte { return make([]byte, len(db)) },
		"a page less":          func(db []byte) []byte { return db[:2*page] },
		"a byte less":          func(db []byte) []byte { return db[:len(db)-1] },
		"a byte more":          func(db []byte) []byte { return append(db, 0) },
		"another checksum":     func(db []byte) []byte { db[headSize+16]++; return db },
		"another version":      meta(func(m []byte) { m[4] = 3 }),
		"no size of a page":    meta(func(m []byte) { order.PutUint32(m[8:], 0) }),
		"a huge page":          meta(func(m []byte) { order.PutUint32(m[8:], 1<<30) }),
		"too many pages":       meta(func(m []byte) { order.PutUint64(m[40:], 1<<62) }),
		"the root is nowhere":  meta(func(m []byte) { order.PutUint64(m[16:], 1<<62) }),
		"the root is a meta":   meta(func(m []byte) { order.PutUint64(m[16:], 0) }),
		"a branch to itself":   root(func(r []byte) { r[8] = branchPage; order.PutUint64(r[headSize+8:], 2) }),
		"a branch to nowhere":  root(func(r []byte) { r[8] = branchPage; order.PutUint64(r[headSize+8:], 1<<63) }),
		"no bucket of keys":    root(func(r []byte) { r[headSize] = 0 }),
		"an entry far away":    root(func(r []byte) { order.PutUint32(r[headSize+4:], 1<<32-1) }),
		"a bucket nowhere":     root(func(r []byte) { order.PutUint64(r[inline-headSize:], 99) }),
		"more than there is":   change(func(b []byte) { order.PutUint16(b[10:], 1<<16-1) }),
		"a short revision":     change(func(b []byte) { order.PutUint32(b[headSize+8:], 3) }),
		"a negative revision":  change(func(b []byte) { b[headSize+int(order.Uint32(b[headSize+4:]))] = 0xff }),
		"a long revision":      change(func(b []byte) { order.PutUint32(b[headSize+8:], 1<<32-1) }),
		"no name":              change(func(b []byte) { b[headSize+int(order.Uint32(b[headSize+4:]))+revisionLen] = 0x12 }),
		"a name without end":   change(func(b []byte) { b[headSize+int(order.Uint32(b[headSize+4:]))+revisionLen+1] = 0x7f }),
		"an entry of no value": change(func(b []byte) { order.PutUint32(b[headSize+12:], 0) }),
	} {
		db := forge(slices.Clone(etcdtest.Database("a")))
		got, err := Read(t.Context(), bytes.NewReader(db), int64(len(db)))
		if !errors.As(err, new(*Malformed)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	db := etcdtest.Database("a", "b")
	if got, err := Read(t.Context(), bytes.NewReader(db), int64(len(db))); err != nil || got != (Contents{Revision: 3, Keys: 2}) {
		t.Errorf("as it was made: %+v, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ended, bytes.NewReader(db), int64(len(db))); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := Read(t.Context(), bytes.NewReader(db[:2*page]), int64(len(db))); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("cut short meanwhile: %v", err)
	}
}

// FuzzRead reads what a server may send as a snapshot. Read must return in any case.
func FuzzRead(f *testing.F) {
	f.Add(uint16(2*4096), uint64(1)<<32, uint16(2*4096+18), uint64(1)<<16)
	f.Add(uint16(24), uint64(0), uint16(3), uint64(9))
	f.Fuzz(func(t *testing.T, at uint16, value uint64, also uint16, other uint64) {
		db := etcdtest.Database("a", "b", "c")
		for _, change := range []struct {
			at    uint16
			value uint64
		}{{at, value}, {also, other}} {
			if int(change.at)+8 <= len(db) {
				binary.LittleEndian.PutUint64(db[change.at:], change.value)
			}
		}
		sum := fnv.New64a()
		_, _ = sum.Write(db[headSize:][:summed])
		binary.LittleEndian.PutUint64(db[headSize+summed:], sum.Sum64())
		got, err := Read(t.Context(), bytes.NewReader(db), int64(len(db)))
		if err == nil && (got.Revision < 0 || got.Keys < 0 || got.Keys > 1<<16) || err != nil && !errors.As(err, new(*Malformed)) {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}
