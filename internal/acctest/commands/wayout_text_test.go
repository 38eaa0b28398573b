// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// The commands of a diagnostic are those that a reader would paste, including
// the environment variables before them.
func TestWayOut(t *testing.T) {
	t.Parallel()
	d := acctest.Diagnostic{Severity: "error", Summary: "s", Address: "etcd_member_config.node[\"b\"]", Detail: `Run terraform apply, or not:

  terraform apply -replace='ADDRESS'

ADDRESS is the address after "with" above. To forget everything, run:

  ETCD_CLUSTER_LOST=2a:b,c terraform destroy -refresh=false

To destroy everything instead, run:

  terraform destroy -refresh=false`}
	want := []string{"terraform apply -replace='ADDRESS'", "ETCD_CLUSTER_LOST=2a:b,c terraform destroy -refresh=false", destroyInstead}
	if got := commandsIn(d); !slices.Equal(got, want) {
		t.Errorf("the commands are %q, want %q", got, want)
	}
	mustBeComplete(d, t)

	l := &lab{t: t, in: flat}
	meant := l.meant(d, "etcd_member_config")
	if meant != d.Address {
		t.Errorf("ADDRESS is %s", meant)
	}
	args, env := shellWords(t, fillIn(want[0], meant))
	if !slices.Equal(args, []string{"apply", "-replace=" + d.Address}) || len(env) != 0 {
		t.Errorf("the arguments are %q with %q", args, env)
	}
	if args, env := shellWords(t, want[1]); !slices.Equal(args, []string{"destroy", "-refresh=false"}) || !slices.Equal(env, []string{"ETCD_CLUSTER_LOST=2a:b,c"}) {
		t.Errorf("the arguments are %q with %q", args, env)
	}
	d.Detail = "ADDRESS is the etcd_member of c."
	if got := l.meant(d, "etcd_member"); got != acctest.Address("etcd_member", "c") {
		t.Errorf("ADDRESS is %s", got)
	}
}
