// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A change of the path deletes the previous file only if the new snapshot could have
// taken its place.
func TestRemoveMoved(t *testing.T) {
	t.Parallel()
	holding := func(cluster string, revision, keys int64) model {
		return model{ClusterID: types.StringValue(cluster), Revision: types.Int64Value(revision), TotalKeys: types.Int64Value(keys)}
	}
	for _, c := range []struct {
		name string
		now  model
		goes bool
	}{
		{"later", holding("2a", 11, 9), true},
		{"another cluster", holding("2b", 11, 9), false},
		{"older", holding("2a", 9, 9), false},
		{"empty", holding("2a", 11, 0), false},
	} {
		path := filepath.Join(t.TempDir(), "etcd.db")
		if err := os.WriteFile(path, []byte("good"), 0o600); err != nil {
			t.Fatal(err)
		}
		sum, _, err := reconfigure.Fingerprint(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		was := holding("2a", 10, 9)
		was.Path = types.StringValue(path)
		warning := removeMoved(t.Context(), was, c.now, made{SHA256: sum})
		if _, err := os.Stat(path); os.IsNotExist(err) != c.goes || (warning == nil) != c.goes {
			t.Errorf("%s: the file is there: %v, warning %v", c.name, err == nil, warning)
		}
	}
}
