// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// ErrNotFound means that the discovery cluster answered and has no such token.
var ErrNotFound = errors.New("no such token")

// ExistsError means that the token already existed.
type ExistsError struct {
	// Size is the existing size, or 0 if it is not a number.
	Size int
}

// existsFor returns the error for an existing token with this size value.
func existsFor(value string) error {
	size, _ := parseSize(value) // 0 if it is not a number
	return &ExistsError{Size: size}
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("the token exists already, for size %d", e.Size)
}

// UnsureError means that a token may have been written: a request was sent, but
// no answer arrived.
type UnsureError struct {
	// Err holds the last error of each endpoint.
	Err error
}

// Error implements error.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("the token may have been written: %v", e.Err)
}

// Unwrap returns the errors of the endpoints.
func (e *UnsureError) Unwrap() error { return e.Err }

// BadSizeError means that a token's size is not a valid number. A member that
// starts with such a token exits with "discovery: size key is bad".
type BadSizeError struct {
	// Value is the stored value, at most 64 bytes of it.
	Value string
}

// Error implements error.
func (e *BadSizeError) Error() string { return fmt.Sprintf("the size of the token is %q", e.Value) }

// A token owns its size, its registrations, and nothing else below its name.
// Create therefore requires that no key exists there, and Delete deletes the
// keys individually: a prefix or a directory may hold another program's data.

// maxNamed is the maximum number of keys that an [OthersError] names.
const maxNamed = 5

// OthersError means that keys exist below a token that do not belong to it.
// Create has written nothing. Delete has deleted the token and kept them.
type OthersError struct {
	// Keys are the first such keys.
	Keys []string
	// more is the number of further keys, as far as it is known.
	more int
}

// Error implements error.
func (e *OthersError) Error() string {
	named := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		named[i] = connection.Quote(key)
	}
	text := "there are keys that are not the token's: " + strings.Join(named, ", ")
	if e.more > 0 {
		text += fmt.Sprintf(" and %d more", e.more)
	}
	return text
}

// othersOf returns an [*OthersError] for keys, or nil if there are none.
func othersOf(keys []string, count int) error {
	if len(keys) == 0 {
		return nil
	}
	named := keys[:min(len(keys), maxNamed)]
	return &OthersError{Keys: named, more: max(count-len(named), 0)}
}

// isRegistration reports whether the last part of a key and its value have the
// form that a member writes when it registers.
func isRegistration(id, value string) bool {
	n, err := strconv.ParseUint(id, 16, 64)
	_, ok := parseMember(id, value)
	return ok && err == nil && strconv.FormatUint(n, 16) == id
}
