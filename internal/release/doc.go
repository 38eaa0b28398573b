// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package release tests the parts of a release: the archives in the format of
// the registries, their contents and licences, the changelog, and the workflows
// that publish it. It contains only tests.
package release
