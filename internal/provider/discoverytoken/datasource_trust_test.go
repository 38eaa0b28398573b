// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// A discovery URL may come from others: its host gets neither the password nor
// the client certificate, unless it is an endpoint itself.
func TestDataURLGetsNoSecret(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	var passwords, certificates atomic.Int32
	server := pki.WebServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); ok {
			passwords.Add(1)
		}
		certificates.Add(int32(len(r.TLS.PeerCertificates)))
		w.WriteHeader(http.StatusNotFound)
	}))

	const token = "0123456789abcdef0123456789abcdef"
	for name, test := range map[string]struct {
		endpoint, path string
		want           bool
	}{
		"v2 elsewhere":      {"https://10.255.255.1:2379", "/v2/keys/_etcd/registry/" + token, false},
		"service elsewhere": {"https://10.255.255.1:2379", "/" + token, false},
		"same host in the clear": {
			strings.Replace(server.URL, "https:", "http:", 1), "/v2/keys/_etcd/registry/" + token, false,
		},
		"v2 at an endpoint": {server.URL, "/v2/keys/_etcd/registry/" + token, true},
	} {
		t.Run(name, func(t *testing.T) {
			passwords.Store(0)
			certificates.Store(0)
			d := &tokenData{backend.DataSource{Backend: &backend.Backend{Pool: &connection.Pool{}, Settings: connection.Settings{
				Endpoints: []string{test.endpoint}, TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: "Tr0ub4dor",
			}}}}
			m := common{URL: types.StringValue(server.URL + test.path)}
			var diags diag.Diagnostics
			if _, err := d.registry(&m, &diags).Status(t.Context(), token); err == nil || diags.HasError() {
				t.Fatalf("got %v, %v, want the server's 404", err, diags)
			}
			if got := passwords.Load() > 0; got != test.want {
				t.Errorf("password sent: %v, want %v", got, test.want)
			}
			if got := certificates.Load() > 0; got != test.want {
				t.Errorf("certificate shown: %v, want %v", got, test.want)
			}
		})
	}
}
