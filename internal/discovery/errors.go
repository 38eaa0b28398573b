// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failure, for errors.Is.
var (
	// ErrNotFound says that the registry answered and has no such token.
	ErrNotFound = errors.New("no such token")
	// ErrExists is any [*ExistsError].
	ErrExists = errors.New("token exists")
	// ErrUnreachable is any [*UnreachableError].
	ErrUnreachable = errors.New("registry unreachable")
	// ErrDenied is any [*DeniedError].
	ErrDenied = errors.New("registry denied access")
	// ErrUnsure is any [*UnsureError].
	ErrUnsure = errors.New("outcome unknown")
	// ErrBadSize is any [*BadSizeError].
	ErrBadSize = errors.New("size key is bad")
)

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

// Is makes the error an [ErrExists].
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// Answer is what came of one attempt at one endpoint.
type Answer struct {
	// Endpoint is the URL that was tried.
	Endpoint string
	// Err is what went wrong there.
	Err error
}

// String is the endpoint with what it answered.
func (a Answer) String() string { return describe(a.Endpoint, a.Err) }

// describe names the endpoint once, whether or not err does so itself.
func describe(endpoint string, err error) string {
	if text := err.Error(); strings.HasPrefix(text, endpoint+": ") {
		return text
	}
	return fmt.Sprintf("%s: %v", endpoint, err)
}

// UnreachableError says that no endpoint gave a usable answer.
type UnreachableError struct {
	// Answers holds one entry for each endpoint, in the order they were tried.
	Answers []Answer
}

// Error implements error: every endpoint with what it answered.
func (e *UnreachableError) Error() string {
	if len(e.Answers) == 0 {
		return "no endpoint to try"
	}
	parts := make([]string, len(e.Answers))
	for i, a := range e.Answers {
		parts[i] = a.String()
	}
	return strings.Join(parts, "; ")
}

// Is makes the error an [ErrUnreachable].
func (e *UnreachableError) Is(target error) bool { return target == ErrUnreachable }

// DeniedError says that an endpoint refused the credentials, or what they may do.
type DeniedError struct {
	// Endpoint is the URL that refused.
	Endpoint string
	// Err is its own word for it.
	Err error
}

// Error implements error.
func (e *DeniedError) Error() string { return describe(e.Endpoint, e.Err) }

// Is makes the error an [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

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

// Is makes the error an [ErrUnsure].
func (e *UnsureError) Is(target error) bool { return target == ErrUnsure }

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

// Is makes the error an [ErrBadSize].
func (e *BadSizeError) Is(target error) bool { return target == ErrBadSize }
