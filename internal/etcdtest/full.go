// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import "os"

// Full reports whether long and rare tests run as well, as in make test-full.
func Full() bool { return os.Getenv("ETCD_TEST_FULL") != "" }
