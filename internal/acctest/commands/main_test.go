// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package commands tests what people type and what a plan answers, where only the real CLI
// and real etcd show it: an import, permissions, and a snapshot. How
// members live, fail and are replaced is tested in package acctest.
package commands

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

func TestMain(m *testing.M) { acctest.Main(m) }
