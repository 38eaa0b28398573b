// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// ErrNotFound says that the registry answered and has no such token.
var ErrNotFound = errors.New("no such token")

// ExistsError says that the token was there before.
type ExistsError struct {
	// Size is the size found; 0 when it is not a number.
	Size int
}

// existsFor is about a token whose size key has value.
func existsFor(value string) error {
	size, _ := parseSize(value) // 0 where it is none
	return &ExistsError{Size: size}
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("the token exists already, for size %d", e.Size)
}

// DeniedError says that an endpoint refused the credentials, or what they may do.
type DeniedError struct {
	// Endpoint is the URL that refused.
	Endpoint string
	// Err is its own word for it.
	Err error
}

// Error implements error.
func (e *DeniedError) Error() string {
	return connection.Answer{Endpoint: e.Endpoint, Err: e.Err}.String()
}

// Unwrap returns the endpoint's own error.
func (e *DeniedError) Unwrap() error { return e.Err }

// UnsureError says that a token may have been written: a request was sent and
// its answer never came.
type UnsureError struct {
	// Place is where the token is, if it was written.
	Place Place
	// Err says what each endpoint answered last.
	Err error
}

// Error implements error.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("the token may have been written: %v", e.Err)
}

// Unwrap returns what the endpoints answered.
func (e *UnsureError) Unwrap() error { return e.Err }

// BadSizeError says that what is written as a token's size is none. A member
// that starts with such a token exits with "discovery: size key is bad".
type BadSizeError struct {
	// Value is what is written, at most 64 bytes of it.
	Value string
}

// Error implements error.
func (e *BadSizeError) Error() string { return fmt.Sprintf("the size of the token is %q", e.Value) }
