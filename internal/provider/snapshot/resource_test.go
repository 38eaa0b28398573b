// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// A change of the path deletes the previous file only if the new snapshot could have
// taken its place.
func TestRemoveMoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		now  membership.Backup
		goes bool
	}{
		{"as late", membership.Backup{Cluster: 0x2a, Least: 10, Most: 10}, true},
		{"another cluster", membership.Backup{Cluster: 0x2b, Least: 11, Most: 11}, false},
		{"older", membership.Backup{Cluster: 0x2a, Least: 9, Most: 11}, false},
	} {
		path := filepath.Join(t.TempDir(), "etcd.db")
		must.Write(t, path, "good")
		sum, _, err := reconfigure.Fingerprint(t.Context(), path)
		must.Succeed(t, err)
		was := model{Path: types.StringValue(path), file: file{ClusterID: types.StringValue("2a"), Revision: types.Int64Value(10)}}
		var diags diag.Diagnostics
		remove(t.Context(), was, kept{SHA256: sum}, &c.now, &diags)
		if _, err := os.Stat(path); os.IsNotExist(err) != c.goes || (len(diags) == 0) != c.goes {
			t.Errorf("%s: the file is there: %v, warning %v", c.name, err == nil, diags)
		}
	}
}
