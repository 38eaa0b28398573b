// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build race

package acctest

// underRace is true if the tests run under the race detector. The provider that
// they build then uses it too.
const underRace = true
