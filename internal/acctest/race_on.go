// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build race

package acctest

// underRace is true where the tests run under the race detector: the provider
// that they build does as well.
const underRace = true
