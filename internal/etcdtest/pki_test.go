// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// health requests the health of a member over TLS.
func health(t *testing.T, p *Process, cfg *tls.Config) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(WaitContext(t), http.MethodGet, p.ClientURL()+"/health", nil)
	noError(t, err)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.Join(errors.New(resp.Status), resp.Body.Close())
	}
	return resp.Body.Close()
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	pki := NewPKI(t)
	c := Start(t, 1, Options{TLS: pki})
	p := c.Member("infra1")
	noError(t, health(t, p, pki.ClientConfig(pki.Client("anybody"))))
	first, again, other := pki.Client("anybody"), pki.Client("anybody"), pki.Client("other")
	if first != again || first == other {
		t.Errorf("not one certificate per name: %v, %v, %v", first, again, other)
	}
	foreign, same := pki.Foreign(), pki.Foreign()
	if foreign != same || foreign == pki {
		t.Error("not one foreign authority")
	}

	for name, cert := range map[string]Cert{
		"no certificate":   {},
		"expired":          pki.ExpiredClient("anybody"),
		"of another CA":    pki.Foreign().Client("anybody"),
		"expired, other's": pki.Foreign().ExpiredClient("anybody"),
	} {
		err := health(t, p, pki.ClientConfig(cert))
		var alert tls.AlertError
		if err == nil || (!errors.As(err, &alert) && !strings.Contains(err.Error(), "remote error: tls: ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unknown x509.UnknownAuthorityError
	if err := health(t, p, pki.Foreign().ClientConfig(pki.Client("anybody"))); !errors.As(err, &unknown) {
		t.Errorf("a client that trusts another CA: %v", err)
	}

	p.Stop()
	expired := pki.ExpiredServer()
	p.Env["ETCD_CERT_FILE"], p.Env["ETCD_KEY_FILE"] = expired.CertFile, expired.KeyFile
	p.Start()
	var invalid x509.CertificateInvalidError
	Until(t, "the expired server certificate shows", func() bool {
		return errors.As(health(t, p, pki.ClientConfig(pki.Client("anybody"))), &invalid) && invalid.Reason == x509.Expired
	})
}
