// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
)

// WebServer starts a web server with the certificate Server. It requests, but
// does not require, a client certificate. It stops when the test ends.
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
