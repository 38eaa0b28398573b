// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package reconfigure

import "os"

// removesOpen is true where a file can be renamed and removed while it is open.
const removesOpen = false

// lockFile locks nothing: what is open cannot be removed.
func lockFile(*os.File, bool) bool { return false }
