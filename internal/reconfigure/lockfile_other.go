// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package reconfigure

import "os"

// removesOpen is true if open files can be renamed and removed.
const removesOpen = false

// lockFile does not lock, because open files cannot be removed.
func lockFile(*os.File, bool) bool { return false }
