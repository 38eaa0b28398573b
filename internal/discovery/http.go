// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import "errors"

// isOurs tells errors that this package made from those of the network.
func isOurs(err error) bool {
	for _, kind := range []error{ErrNotFound, ErrExists, ErrBadSize, ErrDenied, ErrOthers, ErrNoV2} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
