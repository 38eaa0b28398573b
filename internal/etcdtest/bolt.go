// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
)

// The bbolt format.
const (
	boltPage   = 4096
	boltHead   = 16 // of a page, of an element of a page, and of a bucket
	boltBranch = 0x01
	boltLeaf   = 0x02
	boltMeta   = 0x04
	boltInline = boltPage / 4 // the maximum size of a bucket within the entry itself
)

// Bolt returns a bbolt file of buckets, each of keys and values. Equal buckets make
// equal files.
func Bolt(buckets map[string]map[string]string) []byte {
	f := &boltFile{bytes: make([]byte, 2*boltPage)}
	root := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		items := boltItems(buckets[name])
		if _, size := boltFit(items, boltInline); size <= boltInline {
			root[name] = string(make([]byte, boltHead)) + string(boltNode(boltLeaf, 0, items))
		} else {
			root[name] = string(binary.LittleEndian.AppendUint64(nil, f.tree(0, items))) + string(make([]byte, 8))
		}
	}
	f.metas(f.tree(1, boltItems(root)))
	return f.bytes
}

// boltItem is an entry of a leaf, or a child of a branch and its first key.
type boltItem struct {
	key, value string
	child      uint64
}

func boltItems(pairs map[string]string) (out []boltItem) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, boltItem{key: key, value: pairs[key]})
	}
	return out
}

// boltFit returns how many of the items fit into a page of a size, at least one, and
// the size with the first item that does not fit.
func boltFit(items []boltItem, most int) (n, size int) {
	size = boltHead
	for n = range items {
		if size += boltHead + len(items[n].key) + len(items[n].value); size > most {
			return max(n, 1), size
		}
	}
	return len(items), size
}

// boltNode returns a page without its ID.
func boltNode(kind, flags int, items []boltItem) []byte {
	order := binary.LittleEndian
	out, data := make([]byte, boltHead*(1+len(items))), []byte(nil)
	order.PutUint16(out[8:], uint16(kind))
	order.PutUint16(out[10:], uint16(len(items)))
	for i, e := range items {
		element := out[boltHead*(1+i):]
		at := len(element) + len(data)
		numbers := []int{flags, at, len(e.key), len(e.value)}
		if kind == boltBranch {
			numbers = []int{at, len(e.key)}
			order.PutUint64(element[8:], e.child)
		}
		for j, n := range numbers {
			order.PutUint32(element[4*j:], uint32(n))
		}
		data = append(data, e.key+e.value...)
	}
	return slices.Concat(out, data)
}

// boltFile is a file that is being written.
type boltFile struct{ bytes []byte }

// tree adds the pages of the entries of a bucket, and returns the ID of the first one.
func (f *boltFile) tree(flags int, items []boltItem) uint64 {
	for kind := boltLeaf; ; kind = boltBranch {
		var level []boltItem
		for len(items) > 0 {
			n, _ := boltFit(items, boltPage)
			id := uint64(len(f.bytes) / boltPage)
			level = append(level, boltItem{key: items[0].key, child: id})
			page := boltNode(kind, flags, items[:n])
			more := (len(page) - 1) / boltPage // of one large item
			binary.LittleEndian.PutUint64(page, id)
			binary.LittleEndian.PutUint32(page[12:], uint32(more))
			f.bytes = append(append(f.bytes, page...), make([]byte, (more+1)*boltPage-len(page))...)
			items = items[n:]
		}
		if len(level) == 1 {
			return level[0].child
		}
		items = level
	}
}

// metas fills in the two meta pages. There is no list of free pages, as in the
// databases of etcd.
func (f *boltFile) metas(root uint64) {
	order := binary.LittleEndian
	pages := uint64(len(f.bytes) / boltPage)
	for id := range 2 {
		page := f.bytes[id*boltPage:]
		order.PutUint64(page, uint64(id))
		order.PutUint16(page[8:], boltMeta)
		meta := page[boltHead:]
		for i, n := range []uint32{0xED0CDAED, 2, boltPage, 0} {
			order.PutUint32(meta[4*i:], n)
		}
		for i, n := range []uint64{root, 0, ^uint64(0), pages, uint64(4 - id)} { // root, sequence, free list, pages, transaction
			order.PutUint64(meta[16+8*i:], n)
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:56])
		order.PutUint64(meta[56:], sum.Sum64())
	}
}
