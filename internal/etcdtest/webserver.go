// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
)

// WebServer starts a web server with the servers' certificate, which asks for a
// client certificate and goes on without. It ends with the test.
func (k *PKI) WebServer(handler http.Handler) *httptest.Server {
	k.tb.Helper()
	pair, err := tls.LoadX509KeyPair(k.Server.CertFile, k.Server.KeyFile)
	if err != nil {
		k.tb.Fatalf("etcdtest: %v", err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	k.tb.Cleanup(server.Close)
	return server
}
