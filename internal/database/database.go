// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package database reads the contents of an etcd snapshot.
//
// A snapshot is a bbolt file, format version 2. bbolt itself maps the file into
// memory and follows its references without checks: the pages count as memory of
// the process, and a file that a server has forged, or that is truncated while it
// is read, ends the process. This package reads and checks each piece when it is
// needed, so that neither the size nor the contents of the file matter.
package database

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// Contents is what a snapshot holds, as etcdutl snapshot status prints it (3.6
// and later; earlier versions counted more than keys).
type Contents struct {
	// Revision is the revision of the last change in the database.
	Revision int64
	// Keys is the number of keys at that revision.
	Keys int64
}

// Malformed means that a file is not an etcd database.
type Malformed struct {
	// Offset is the position in the file, in bytes. What is a clause.
	Offset int64
	What   string
}

// Error implements error.
func (m *Malformed) Error() string { return fmt.Sprintf("at byte %d %s", m.Offset, m.What) }

// The bbolt format. Numbers are in the byte order of the machine that wrote the
// file.
const (
	magic   = 0xED0CDAED
	version = 2

	headSize    = 16 // of a page, of an element of a page, and of a bucket
	metaSize    = 64
	summed      = 56 // bytes of the meta page that its checksum covers
	minPageSize = 1 << 9
	maxPageSize = 1 << 20
	maxDepth    = 64

	branchPage = 0x01
	leafPage   = 0x02
	bucketFlag = 0x01
)

// Read reads the database in the first size bytes of a file. The error is a
// [*Malformed], or comes from ctx or the file.
func Read(ctx context.Context, file io.ReaderAt, size int64) (Contents, error) {
	return (&reader{ctx: ctx, file: file, size: size, atOnce: atOnce}).contents()
}

func (r *reader) contents() (Contents, error) {
	root, err := r.meta()
	if err != nil {
		return Contents{}, err
	}
	keys, err := r.bucket(root, "key")
	if err != nil {
		return Contents{}, err
	}
	return r.census(keys)
}

// reader reads a database.
type reader struct {
	ctx      context.Context
	file     io.ReaderAt
	order    binary.ByteOrder
	size     int64
	pageSize int64
	atOnce   int    // keys in memory at a time
	visits   int64  // pages that the current walk may still visit
	head     window // the page being read
	data     window // data outside of that page
}

// window is a piece of the file.
type window struct {
	at    int64
	bytes []byte
}

func (w *window) holds(at int64, n int) bool {
	return at >= w.at && at+int64(n) <= w.at+int64(len(w.bytes))
}

func (w *window) piece(at int64, n int) []byte { return w.bytes[at-w.at:][:n] }

// read returns n bytes of the file through a window, valid until its next read.
func (r *reader) read(w *window, at int64, n int) ([]byte, error) {
	if at < 0 || int64(n) > r.size || at > r.size-int64(n) {
		return nil, &Malformed{at, "it refers to what lies outside of the file"}
	}
	if !w.holds(at, n) {
		size := max(n, int(min(r.pageSize, r.size-at)))
		if cap(w.bytes) < size {
			w.bytes = make([]byte, size)
		}
		w.at, w.bytes = at, w.bytes[:size]
		if _, err := io.ReadFull(io.NewSectionReader(r.file, at, int64(size)), w.bytes); err != nil {
			w.bytes = w.bytes[:0]
			return nil, err
		}
	}
	return w.piece(at, n), nil
}

// within is [reader.read] without moving the window of the page.
func (r *reader) within(at int64, n int) ([]byte, error) {
	if r.head.holds(at, n) {
		return r.head.piece(at, n), nil
	}
	return r.read(&r.data, at, n)
}

// meta reads the first meta page, and returns the offset of the root bucket's page.
// The server writes two meta pages into a snapshot; the first is the newer one.
func (r *reader) meta() (root int64, err error) {
	m, err := r.read(&r.head, headSize, metaSize)
	if err != nil {
		return 0, err
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint32(m) == magic {
			r.order = order
		}
	}
	if r.order == nil || r.order.Uint32(m[4:]) != version {
		return 0, &Malformed{headSize, "there is no mark of a database"}
	}
	sum := fnv.New64a()
	_, _ = sum.Write(m[:summed])
	pageSize, pages := int64(r.order.Uint32(m[8:])), r.order.Uint64(m[40:])
	switch {
	case sum.Sum64() != r.order.Uint64(m[summed:]):
		return 0, &Malformed{headSize, "the checksum of the first page is wrong"}
	case pageSize < minPageSize || pageSize > maxPageSize:
		return 0, &Malformed{headSize, fmt.Sprintf("the pages are of %d bytes", pageSize)}
	case pages != uint64(r.size/pageSize) || r.size%pageSize != 0: //nolint:gosec // a size is not negative
		return 0, &Malformed{headSize, fmt.Sprintf("%d pages of %d bytes are announced, and the file has %d bytes", pages, pageSize, r.size)}
	}
	r.pageSize = pageSize
	return r.page(r.order.Uint64(m[16:]))
}

// page returns the offset of a page.
func (r *reader) page(id uint64) (at int64, err error) {
	if id >= uint64(r.size/r.pageSize) { //nolint:gosec // not negative
		return 0, &Malformed{0, fmt.Sprintf("page %d lies outside of the file", id)}
	}
	return int64(id) * r.pageSize, nil //nolint:gosec // see above
}

// entry is a key and a value, given by their offsets and lengths.
type entry struct {
	bucket         bool
	key, value     int64
	keyLen, valLen int
}

// walk visits the entries below a page in order.
func (r *reader) walk(at int64, visit func(entry) error) error {
	r.visits = r.size/r.pageSize + 1 // plus one inline page
	return r.below(at, 0, visit)
}

func (r *reader) below(at int64, depth int, visit func(entry) error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.visits--; r.visits < 0 || depth > maxDepth {
		return &Malformed{at, "the tree leads back to a page"}
	}
	head, err := r.read(&r.head, at, headSize)
	if err != nil {
		return err
	}
	kind, count := r.order.Uint16(head[8:]), int(r.order.Uint16(head[10:]))
	// The elements share the window of the head: one read serves a whole page.
	elements, err := r.read(&r.head, at+headSize, count*headSize)
	if err != nil {
		return err
	}
	switch kind {
	case leafPage:
		for i := range count {
			if err := visit(r.entry(at+int64(i+1)*headSize, elements[i*headSize:])); err != nil {
				return err
			}
		}
		return nil
	case branchPage:
		children := make([]uint64, count)
		for i := range children {
			children[i] = r.order.Uint64(elements[i*headSize+8:])
		}
		for _, id := range children {
			child, err := r.page(id)
			if err == nil {
				err = r.below(child, depth+1, visit)
			}
			if err != nil {
				return err
			}
		}
		return nil
	default:
		return &Malformed{at, fmt.Sprintf("there is a page of kind %d in the tree", kind)}
	}
}

// entry decodes an element of a leaf page. Its offsets are checked when the data
// is read.
func (r *reader) entry(at int64, e []byte) entry {
	key, keyLen := at+int64(r.order.Uint32(e[4:])), r.order.Uint32(e[8:])
	return entry{
		bucket: r.order.Uint32(e)&bucketFlag != 0,
		key:    key, keyLen: clamp(keyLen), value: key + int64(keyLen), valLen: clamp(r.order.Uint32(e[12:])),
	}
}

// clamp limits a length to what a 32-bit int holds: no file has that much.
func clamp(n uint32) int { return int(min(n, 1<<31-1)) }

// bucket returns the offset of the first page of a bucket. A small bucket lies
// within the entry itself.
func (r *reader) bucket(root int64, name string) (at int64, err error) {
	found := int64(-1)
	err = r.walk(root, func(e entry) error {
		if !e.bucket || e.keyLen != len(name) {
			return nil
		}
		if key, err := r.within(e.key, e.keyLen); err != nil || string(key) != name {
			return err
		}
		head, err := r.within(e.value, headSize)
		if err != nil {
			return err
		}
		if id := r.order.Uint64(head); id != 0 {
			found, err = r.page(id)
			return err
		}
		found = e.value + headSize
		return nil
	})
	if err == nil && found < 0 {
		err = &Malformed{root, "there is no bucket for keys, so it is no database of etcd"}
	}
	return found, err
}
