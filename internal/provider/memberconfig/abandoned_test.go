// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// A configuration adopts a bootstrap with a snapshot that replaces the
// configuration's own cluster, and no other bootstrap.
func TestIsAbandonedFor(t *testing.T) {
	t.Parallel()
	boot := func(token, replaces types.String) *bootstrap.Bootstrap {
		return &bootstrap.Bootstrap{Token: token, ReplacesCluster: replaces}
	}
	fresh, old := types.StringUnknown(), types.StringValue("0c1")
	for _, c := range []struct {
		name string
		was  prior
		boot *bootstrap.Bootstrap
		want bool
	}{
		{"no bootstrap", prior{Cluster: "c1"}, nil, false},
		{"a bootstrap that replaces nothing", prior{Cluster: "c1", Token: "t"}, boot(fresh, types.StringNull()), false},
		{"not known yet", prior{Cluster: "c1", Token: "t"}, boot(fresh, types.StringUnknown()), false},
		{"seen in the cluster", prior{Cluster: "c1", Token: "t"}, boot(fresh, old), true},
		{"seen in the cluster, without a bootstrap", prior{Cluster: "c1"}, boot(fresh, old), true},
		{"never seen, its bootstrap forms the cluster", prior{Formed: "c1", Token: "t"}, boot(fresh, old), true},
		{"seen in another cluster", prior{Cluster: "c2", Token: "t"}, boot(fresh, old), false},
		{"seen in one that was restored by hand", prior{Cluster: "c2", Formed: "c1", Token: "t"}, boot(fresh, old), true},
		{"its own bootstrap", prior{Cluster: "c1", Token: "t"}, boot(types.StringValue("t"), old), false},
		{"its own bootstrap, of the restored cluster", prior{Cluster: "c2", Formed: "c2", Token: "t"}, boot(types.StringValue("t"), old), false},
		{"a discovery that does not tell", prior{Token: "t"}, boot(fresh, old), true},
		{"a member of which nothing is known", prior{}, boot(fresh, old), false},
	} {
		if got := c.was.isAbandonedFor(c.boot); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
