// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package database

import (
	"encoding/binary"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// revisionLen is the length of a key in the bucket: the main revision, '_'
	// and the sub revision. A deletion also has the mark 't'.
	revisionLen = 8 + 1 + 8
	deletedLen  = revisionLen + 1
	// fieldLen is the maximum length of what precedes the name of a key in its value.
	fieldLen = 1 + binary.MaxVarintLen64
	// chunk is how many bytes of a name are read at a time.
	chunk = 64 << 10
)

// atOnce is how many keys are in memory at a time, 8 bytes each: some 20 MB. If
// there are more, each pass counts a part of them.
const atOnce = 1 << 20

// census counts the keys in the bucket at a page. The entries are the changes
// that were not compacted, in order of revision, not of key.
func (r *reader) census(at int64) (out Contents, err error) {
	c := &census{reader: r, seed: maphash.MakeSeed(), parts: 1, most: r.atOnce}
	if err := c.count(at, &out); err != nil {
		return out, err
	}
	if !c.full {
		return out, nil
	}
	c.parts, c.most = uint64(c.entries/r.atOnce)+1, c.entries //nolint:gosec // not negative
	for out.Keys = 0; c.part < c.parts; c.part++ {
		if err := c.count(at, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// census counts the keys whose hash falls into one of several parts.
type census struct {
	*reader
	seed        maphash.Seed
	part, parts uint64
	// live holds the hashes of the existing keys, up to most of them; full is
	// true if there are more.
	live    map[uint64]struct{}
	most    int
	full    bool
	entries int
}

func (c *census) count(at int64, out *Contents) error {
	c.live, c.full, c.entries = map[uint64]struct{}{}, false, 0
	err := c.walk(at, func(e entry) error {
		c.entries++
		revision, deleted, err := c.revision(e)
		if err != nil {
			return err
		}
		out.Revision = revision
		if c.full {
			return nil
		}
		name, err := c.hash(e)
		switch {
		case err != nil:
			return err
		case name%c.parts != c.part:
		case deleted:
			delete(c.live, name)
		default:
			c.live[name] = struct{}{}
			c.full = len(c.live) > c.most
		}
		return nil
	})
	out.Keys += int64(len(c.live))
	return err
}

func (c *census) revision(e entry) (main int64, deleted bool, err error) {
	if e.keyLen != revisionLen && e.keyLen != deletedLen {
		return 0, false, &Malformed{e.key, "there is no revision"}
	}
	key, err := c.within(e.key, e.keyLen)
	if err != nil {
		return 0, false, err
	}
	main = int64(binary.BigEndian.Uint64(key)) //nolint:gosec // checked below
	if deleted = e.keyLen == deletedLen; main < 0 || key[8] != '_' || deleted && key[revisionLen] != 't' {
		return 0, false, &Malformed{e.key, "there is no revision"}
	}
	return main, deleted, nil
}

// hash returns the hash of the name of a key. The name is the first field of the
// message in the value.
func (c *census) hash(e entry) (uint64, error) {
	head, err := c.within(e.value, min(e.valLen, fieldLen))
	if err != nil {
		return 0, err
	}
	number, kind, n := protowire.ConsumeTag(head)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return 0, &Malformed{e.value, "there is no name of a key"}
	}
	size, m := protowire.ConsumeVarint(head[n:])
	if m < 0 || size > uint64(e.valLen-n-m) { //nolint:gosec // the two are parts of head
		return 0, &Malformed{e.value, "there is no name of a key"}
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	for at, left := e.value+int64(n+m), int(size); left > 0; { //nolint:gosec // see above
		piece, err := c.within(at, min(left, chunk))
		if err != nil {
			return 0, err
		}
		_, _ = h.Write(piece)
		at, left = at+int64(len(piece)), left-len(piece)
	}
	return h.Sum64(), nil
}
