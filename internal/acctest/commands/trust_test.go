// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member advertises its own host without TLS and another host with TLS. A
// plan sends the password only to the endpoint, and one warning contains the
// line that would allow the other URL.
func TestAccNoSecretElsewhere(t *testing.T) {
	t.Parallel()
	const password, warning = "Tr0ub4dor", "Some addresses of members are not asked"
	plainAt, plain := etcdtest.Trap(t, "127.0.0.1")
	otherAt, other := etcdtest.Trap(t, "127.7.0.1")
	pki := etcdtest.NewPKI(t)
	c := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password, Advertise: []string{"http://" + plainAt, "https://" + otherAt}})
	access := acctest.Access{Endpoints: c.Endpoints(), PKI: pki, Cert: pki.Client("run"), Username: "root", Password: password}
	config := fmt.Sprintf(required+`
data "etcd_cluster" "one" {}

# The member is asked at its endpoint, whatever else it advertises.
data "etcd_cluster" "two" {
  endpoints = [%q]
  lifecycle {
    postcondition {
      condition     = self.healthy
      error_message = "The cluster does not look healthy."
    }
  }
}
`, c.Endpoints()[0])
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	record := w.Record()
	w.Write("main.tf", config)
	w.Write("provider.tf", access.ProviderConfig())
	p := w.Plan()
	if warnings := p.MustSucceed().Warnings(); len(warnings) != 1 {
		t.Fatalf("want one warning, got %v", warnings)
	}
	p.Warnings()[0].MustContain(t, warning, fmt.Sprintf("  endpoints = [..., %q]", "https://"+otherAt), "http://"+plainAt)
	if n := plain.Load() + other.Load(); n != 0 {
		t.Errorf("%d connections to addresses that no argument names", n)
	}
	trusted := map[string]bool{strings.TrimPrefix(c.Endpoints()[0], "https://"): true}
	acctest.CheckSent(t, record(), trusted, true, "password", "certificate")

	// A named host is used with TLS, but never without TLS.
	access.Endpoints = append(access.Endpoints, "https://"+otherAt)
	w.Write("provider.tf", access.ProviderConfig())
	said := fmt.Sprint(w.Plan().MustSucceed().Warnings())
	if strings.Contains(said, "endpoints =") || other.Load() == 0 || plain.Load() != 0 {
		t.Errorf("%d connections to the named host, %d in the clear: %s", other.Load(), plain.Load(), said)
	}
}
