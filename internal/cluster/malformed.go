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
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// format is the number of the format of records and turns. It grows with every
// change that an older version must not misread.
const format = 1

// Malformed means that a key under the metadata prefix does not hold what this
// version of the provider writes: another program or a newer version wrote it.
// Waiting does not help. The meaning of such a key is not known, so it stops
// everything that depends on it, and the provider does not change or delete it.
type Malformed struct {
	// Kind is the expected content of the key, Key the whole key.
	Kind, Key string
	// Value is the beginning of its value, quoted, in ASCII.
	Value string
	// Format is the number of its format, 0 if it has none. Newer is true if
	// that is later than the format of this version.
	Format int
	Newer  bool
	// Err is the reason why it is malformed.
	Err error

	// hint contains the readable fields of a record; legible is false if the
	// member ID cannot be read.
	hint    Record
	legible bool
}

// Error implements error.
func (m *Malformed) Error() string {
	return fmt.Sprintf("the %s %s is not what this version writes: %v (it holds %s)", m.Kind, strconv.QuoteToASCII(m.Key), m.Err, m.Value)
}

// Unwrap returns the reason.
func (m *Malformed) Unwrap() error { return m.Err }

// MayClaim reports whether the record may say that its owner owns the member
// with that ID.
func (m *Malformed) MayClaim(id membership.MemberID) bool {
	return !m.legible || id != 0 && m.hint.ID() == id
}

// SpeaksOf reports whether the record describes a member with that name and
// those peer URLs, as far as it can be read.
func (m *Malformed) SpeaksOf(name string, peerURLs []string) bool {
	return m.hint.Name == name && membership.SameURLs(m.hint.PeerURLs, peerURLs)
}

// NotDeleted means that a key under the metadata prefix could not be deleted,
// or that the answer was lost.
type NotDeleted struct {
	// Key is the whole key, empty if the cluster is not known.
	Key string
	Err error
}

// Error implements error.
func (n *NotDeleted) Error() string { return "cannot delete " + n.Key + ": " + n.Err.Error() }

// Unwrap returns the reason.
func (n *NotDeleted) Unwrap() error { return n.Err }

// malformed returns the error for the value at a key.
func malformed(kind, key string, value []byte, err error) *Malformed {
	m := &Malformed{Kind: kind, Key: key, Value: connection.Quote(string(value)), Err: errors.New(connection.Cut(err.Error()))}
	var hint struct {
		Format   int      `json:"format"`
		Name     string   `json:"name"`
		PeerURLs []string `json:"peer_urls"`
		MemberID string   `json:"member_id"`
	}
	err = json.Unmarshal(value, &hint) // an error leaves out what it is about
	m.Format, m.Newer = hint.Format, hint.Format > format
	if err == nil && bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		m.hint = Record{Name: hint.Name, PeerURLs: hint.PeerURLs, MemberID: hint.MemberID}
		m.legible = hint.MemberID == "" || m.hint.ID() != 0
	}
	return m
}

// strictly decodes a value: one JSON object with no fields other than those of
// into, in the format that this version writes.
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

// displayed returns the author of a record, and its time, as they are stored for display.
func displayed(by string, since time.Time) (string, time.Time) {
	if connection.PlainName(by) != nil {
		by = connection.Quote(by)
	}
	return by, since.UTC().Truncate(time.Second)
}

// plain returns an error if s is not fit for display, as all our texts are.
func plain(what, s string) error {
	if err := connection.PlainName(s); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
