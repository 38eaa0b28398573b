// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// A token owns its size and its registrations, and nothing else below its
// name. So it is made only where there is nothing, and its deletion takes out
// those keys one by one: a prefix or a directory may hold the data of another
// program.

// maxNamed is how many keys an [OthersError] names.
const maxNamed = 5

// OthersError says that there are keys below a token that are not its own.
// Create has written nothing then. Delete has removed the token and left them.
type OthersError struct {
	// Keys are the first of them.
	Keys []string
	// More is the number of those that are not named, as far as it is known.
	More int
}

// Error implements error.
func (e *OthersError) Error() string {
	named := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		named[i] = connection.Quote(key)
	}
	text := "there are keys that are not the token's: " + strings.Join(named, ", ")
	if e.More > 0 {
		text += fmt.Sprintf(" and %d more", e.More)
	}
	return text
}

// othersOf is an [*OthersError] about keys, nil if there are none.
func othersOf(keys []string, count int) error {
	if len(keys) == 0 {
		return nil
	}
	named := keys[:min(len(keys), maxNamed)]
	return &OthersError{Keys: named, More: max(count-len(named), 0)}
}

// isRegistration reports whether a key, by its last part, and its value are as
// a member writes them when it registers.
func isRegistration(id, value string) bool {
	n, err := strconv.ParseUint(id, 16, 64)
	_, ok := parseMember(id, value)
	return ok && err == nil && strconv.FormatUint(n, 16) == id
}
