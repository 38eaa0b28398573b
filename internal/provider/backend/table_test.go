// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"reflect"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Resources share connections (with what was observed through them), claims and locks,
// and the table of entries. The rest of a Backend is as the provider was configured.
func TestBackendSharesNothingElse(t *testing.T) {
	t.Parallel()
	shared := map[string]string{
		"Pool": "connections", "clusters": "connections", "byID": "connections", "changes": "connections",
		"claims": "claims", "state": "claims", "Table": "entries",
		"Unknown": "configuration", "Settings": "configuration", "Lost": "configuration", "InUse": "configuration", "Run": "configuration",
	}
	for f := range reflect.TypeFor[Backend]().Fields() {
		if shared[f.Name] == "" {
			t.Errorf("%s is shared. Make it an entry of the table, or pass it on an edge of Terraform's graph", f.Name)
		}
	}
}

// Every entry of the table is added, and none is taken back or changed.
func TestTable(t *testing.T) {
	t.Parallel()
	var table Table
	if table.HasJoined(7) || !table.firstTime("x") || table.firstTime("x") {
		t.Error("the zero value is not ready to use")
	}
	table.Note(membership.Entry{ID: 7})
	if table.HasJoined(7) {
		t.Error("a note of the state is taken for a member that joined")
	}
	table.Note(membership.Entry{ID: 7, Effect: membership.Created})
	if !table.HasJoined(7) {
		t.Error("a member that joined is forgotten")
	}
	first, again, other := table.EnterFile("f", "a"), table.EnterFile("f", "a"), table.EnterFile("f", "b")
	if first || again || !other {
		t.Error("the plan of a file is not that of its resource")
	}
	table.Apply()
	if broken := table.Enter(membership.Entry{Object: 1, Effect: membership.Created, After: &membership.Side{}, Found: membership.Identity{Code: membership.NameTaken}}, membership.Known{}); !table.Applies() || slices.Clone(broken) != nil {
		t.Errorf("an apply is judged as a plan: %v", broken)
	}
}
