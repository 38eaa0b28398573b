// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package commands tests what people type and what a plan answers: refused plans
// and the commands that lead on, imports, moved and lost states, the bootstrap
// resources, the examples, permissions and snapshots. How members live, fail and
// are replaced is tested next to the shared parts, in package acctest.
package commands

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

func TestMain(m *testing.M) { acctest.Main(m) }
