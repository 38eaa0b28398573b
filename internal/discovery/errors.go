// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"
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
	// Place is where the token is, if it was written.
	Place Place
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
