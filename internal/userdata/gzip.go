// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// compressed returns the base64 of the gzip of a text.
//
// Other bytes would replace a machine, so they depend on this file alone: Go 1.27 changed
// what compress/gzip writes, and so may each version of any library. A change of the bytes
// belongs to a new format, like every other difference.
func compressed(text string) string {
	w := bitWriter{out: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}} // no time, no system
	w.deflate(text)
	w.out = binary.LittleEndian.AppendUint32(w.out, crc32.ChecksumIEEE([]byte(text)))
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(len(text))) //nolint:gosec // modulo 2^32, as RFC 1952 has it
	return base64.StdEncoding.EncodeToString(w.out)
}

// The alphabets of RFC 1951: literals, the end and lengths, distances, and the order in
// which the lengths of the codes for code lengths are written.
const (
	literals, distances = 286, 30
	endOfBlock          = 256
	window              = 1 << 15
	minMatch, maxMatch  = 3, 257 // 258 would need a code of its own
	maxTries            = 256    // at earlier places, for the time that it takes
)

var codeOrder = []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

type bitWriter struct {
	out  []byte
	left uint // free bits of the last byte
}

// write appends the n lowest bits of a value, the lowest one first.
func (w *bitWriter) write(value, n uint) {
	for ; n > 0; n, value = n-1, value>>1 {
		if w.left == 0 {
			w.out, w.left = append(w.out, 0), 8
		}
		w.out[len(w.out)-1] |= byte(value&1) << (8 - w.left)
		w.left--
	}
}

// match is a literal, or the length and distance of a text that is repeated.
type match struct {
	literal          byte
	length, distance uint
}

// deflate appends one block with codes of its own.
func (w *bitWriter) deflate(text string) {
	found := matches(text)
	frequency, far := make([]int, literals), make([]int, distances)
	frequency[0], frequency[endOfBlock], far[0], far[1] = 1, 1, 1, 1 // a code needs two symbols
	for _, m := range found {
		if m.length == 0 {
			frequency[m.literal]++
			continue
		}
		symbol, _, _ := split(m.length-minMatch, 2)
		frequency[endOfBlock+1+symbol]++
		symbol, _, _ = split(m.distance-1, 1)
		far[symbol]++
	}
	lengths := append(codeLengths(frequency, 15), codeLengths(far, 15)...)
	used := make([]int, len(codeOrder))
	for _, n := range lengths {
		used[n]++
	}
	ofLengths := codeLengths(used, 7)

	w.write(1, 1) // the last block
	w.write(2, 2)
	w.write(literals-257, 5)
	w.write(distances-1, 5)
	w.write(uint(len(codeOrder)-4), 4)
	for _, i := range codeOrder {
		w.write(uint(ofLengths[i]), 3)
	}
	code := codes(ofLengths)
	for _, n := range lengths {
		w.write(code[n], uint(ofLengths[n]))
	}
	code = append(codes(lengths[:literals]), codes(lengths[literals:])...)
	symbol := func(s uint) { w.write(code[s], uint(lengths[s])) }
	for _, m := range found {
		if m.length == 0 {
			symbol(uint(m.literal))
			continue
		}
		s, rest, n := split(m.length-minMatch, 2)
		symbol(endOfBlock + 1 + s)
		w.write(rest, n)
		s, rest, n = split(m.distance-1, 1)
		symbol(literals + s)
		w.write(rest, n)
	}
	symbol(endOfBlock)
}

// split returns the symbol of a length or a distance, and the n bits that follow it. There
// are 1<<k symbols for each n.
func split(v uint, k int) (symbol, rest, n uint) {
	n = uint(max(bits.Len(v)-1-k, 0))
	return n<<k + v>>n, v & (1<<n - 1), n
}

// matches returns a text as literals and repetitions. A repetition waits for a longer one
// that begins at the next character.
func matches(text string) (out []match) {
	latest, before := map[string]int{}, make([]int, len(text)) // positions from 1, 0 for none
	longest := func(at int) (length, distance int) {
		if at+minMatch > len(text) {
			return 0, 0
		}
		place := latest[text[at:at+minMatch]]
		for tries := 0; place > 0 && at-place+1 <= window && tries < maxTries && length < maxMatch; tries++ {
			n := minMatch
			for n < maxMatch && at+n < len(text) && text[place-1+n] == text[at+n] {
				n++
			}
			if n > length {
				length, distance = n, at-place+1
			}
			place = before[place-1]
		}
		return length, distance
	}
	for at := 0; at < len(text); {
		length, distance := longest(at)
		if next, _ := longest(at + 1); next > length {
			length = 0
		}
		out = append(out, match{text[at], uint(length), uint(distance)})
		for end := at + max(length, 1); at < end; at++ {
			if at+minMatch <= len(text) {
				key := text[at : at+minMatch]
				before[at], latest[key] = latest[key], at+1
			}
		}
	}
	return out
}

// codeLengths returns the lengths of a Huffman code, none above the limit.
func codeLengths(frequency []int, limit int) []int {
	type node struct {
		weight  int
		symbols []int
	}
	frequency = slices.Clone(frequency)
	for {
		lengths, nodes := make([]int, len(frequency)), []node(nil)
		for symbol, f := range frequency {
			if f > 0 {
				nodes = append(nodes, node{f, []int{symbol}})
			}
		}
		for len(nodes) > 1 {
			slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(a.weight, b.weight) })
			merged := node{nodes[0].weight + nodes[1].weight, slices.Concat(nodes[0].symbols, nodes[1].symbols)}
			for _, symbol := range merged.symbols {
				lengths[symbol]++
			}
			nodes = append(nodes[2:], merged)
		}
		if slices.Max(lengths) <= limit {
			return lengths
		}
		for symbol, f := range frequency { // flatter, none becomes 0
			frequency[symbol] = (f + 1) / 2
		}
	}
}

// codes returns the code of each symbol, as it is written: the first bit is the lowest.
func codes(lengths []int) []uint {
	out, next := make([]uint, len(lengths)), uint16(0)
	for n := 1; n <= 15; n++ {
		for symbol, length := range lengths {
			if length == n {
				out[symbol] = uint(bits.Reverse16(next) >> (16 - n))
				next++
			}
		}
		next <<= 1
	}
	return out
}
