// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// format is the number of the format in which records and turns are written. It
// grows with every change that an older version must not misread.
const format = 1

// The kinds of metadata, as a [*Malformed] names them.
const (
	kindRecord = "ownership record"
	kindTurn   = "record of a replacement"
)

// Malformed means that a key under the metadata prefix does not hold what this
// version of the provider writes: something else wrote it, or a newer version. It
// does not go away by waiting. What such a key means is not known, so it stops
// whatever depends on it, and nothing changes or deletes it.
type Malformed struct {
	// Kind is what the key should hold, Key the whole key.
	Kind, Key string
	// Value is the beginning of what it holds, quoted, in ASCII.
	Value string
	// Format is the number of its format, 0 if it has none. Newer is true if that
	// is a later one than this version writes.
	Format int
	Newer  bool
	// Err is what is wrong with it.
	Err error

	// hint is what could be read of a record all the same; legible is false if
	// not even that could.
	hint    Record
	legible bool
}

// Error implements error.
func (m *Malformed) Error() string {
	return fmt.Sprintf("the %s %s is not what this version writes: %v (it holds %s)", m.Kind, strconv.QuoteToASCII(m.Key), m.Err, m.Value)
}

// Unwrap returns what is wrong.
func (m *Malformed) Unwrap() error { return m.Err }

// MayClaim reports whether the record may say that the member with that ID is
// its owner's.
func (m *Malformed) MayClaim(id membership.MemberID) bool {
	return !m.legible || id != 0 && m.hint.ID() == id
}

// SpeaksOf reports whether the record is about a member of that name and those
// peer URLs, as far as it can be read.
func (m *Malformed) SpeaksOf(name string, peerURLs []string) bool {
	return m.hint.Name == name && membership.SameURLs(m.hint.PeerURLs, peerURLs)
}

// NotDeleted means that a key under the metadata prefix could not be deleted, or
// that the answer to that was lost.
type NotDeleted struct {
	// Key is the whole key, empty if the cluster is not known.
	Key string
	Err error
}

// Error implements error.
func (n *NotDeleted) Error() string { return "cannot delete " + n.Key + ": " + n.Err.Error() }

// Unwrap returns why.
func (n *NotDeleted) Unwrap() error { return n.Err }

// malformed describes what stands at a key.
func malformed(kind, key string, value []byte, err error) *Malformed {
	m := &Malformed{Kind: kind, Key: key, Value: connection.Quote(string(value)), Err: errors.New(connection.Cut(err.Error()))}
	var head struct {
		Format int `json:"format"`
	}
	_ = json.Unmarshal(value, &head) // whatever it holds, it is malformed
	m.Format, m.Newer = head.Format, head.Format > format
	var hint struct {
		Name     string   `json:"name"`
		PeerURLs []string `json:"peer_urls"`
		MemberID string   `json:"member_id"`
	}
	if json.Unmarshal(value, &hint) == nil && bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		m.hint = Record{Name: hint.Name, PeerURLs: hint.PeerURLs, MemberID: hint.MemberID}
		m.legible = hint.MemberID == "" || m.hint.ID() != 0
	}
	return m
}

// strictly decodes a value: one JSON object with no other fields than those of
// into, and of the format that this version writes.
func strictly(value []byte, into any, of *int) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	if *of != format {
		return fmt.Errorf("its format is %d, this version writes %d", *of, format)
	}
	return nil
}

// plain reports why a text cannot be one of ours, which are shown to people.
func plain(what, s string) error {
	if err := connection.PlainName(s); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
