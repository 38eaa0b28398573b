// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"fmt"
	"io"
)

// Secret is a text that must not be printed. All formatting yields "***", or ""
// if it is empty. Only [Secret.Reveal] returns the text.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// Format implements fmt.Formatter. No verb, not even a wrong one such as %d,
// prints the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, which JSON encoders and
// loggers use.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the secret for the one call that needs it.
func (s Secret) Reveal() string { return string(s) }
