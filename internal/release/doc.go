// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package release tests what a release is made of: the archives as the
// registries want them, what is in them and under which licences, the
// changelog, and the workflows that publish it. There is nothing else in it.
package release
