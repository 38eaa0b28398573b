// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

func TestLoadTLS(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert := pki.Client("root")
	key := must.Read(t, cert.KeyFile)
	whole := TLSMaterial{CACert: pki.CAFile, Cert: cert.CertFile, Key: Secret(key)}

	config, err := LoadTLS(whole, time.Now())
	if err != nil || config.RootCAs == nil || len(config.Certificates) != 1 || config.InsecureSkipVerify || config.MinVersion != tls.VersionTLS12 || config.ServerName != "" {
		t.Errorf("got %+v, %v", config, err)
	}
	if config, err := LoadTLS(TLSMaterial{}, time.Now()); config != nil || err != nil {
		t.Errorf("nothing gave %+v, %v", config, err)
	}

	for name, c := range map[string]struct {
		change   func(*TLSMaterial)
		now      time.Time
		argument string
		problem  TLSProblem
	}{
		"other key":     {func(m *TLSMaterial) { m.Key = Secret(pki.Client("other").KeyFile) }, time.Now(), "key", KeyMismatch},
		"no key":        {func(m *TLSMaterial) { m.Key = "" }, time.Now(), "cert", CertWithoutKey},
		"no cert":       {func(m *TLSMaterial) { m.Cert = "" }, time.Now(), "key", KeyWithoutCert},
		"unreadable":    {func(m *TLSMaterial) { m.CACert = t.TempDir() }, time.Now(), "ca_cert", Unreadable},
		"garbage":       {func(m *TLSMaterial) { m.CACert = "-----BEGIN garbage" }, time.Now(), "ca_cert", NoPEM},
		"mangled key":   {func(m *TLSMaterial) { m.Key = Secret(mangle(key)) }, time.Now(), "key", NoPEM},
		"too early":     {func(*TLSMaterial) {}, time.Now().AddDate(-1, 0, 0), "cert", CertNotYetValid},
		"too late":      {func(*TLSMaterial) {}, time.Now().AddDate(1, 0, 0), "cert", CertExpired},
		"encrypted key": {func(m *TLSMaterial) { m.Key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED" }, time.Now(), "key", EncryptedKey},
	} {
		t.Run(name, func(t *testing.T) {
			m := whole
			c.change(&m)
			_, err := LoadTLS(m, c.now)
			var e *TLSError
			if !errors.As(err, &e) || e.Argument != c.argument || e.Problem != c.problem {
				t.Fatalf("got %v", err)
			}
			if c.problem == CertExpired || c.problem == CertNotYetValid {
				if e.When.IsZero() {
					t.Error("it does not say when")
				}
			}
			for _, line := range strings.Split(key, "\n")[1:3] {
				if line != "" && strings.Contains(err.Error(), line) {
					t.Errorf("the error holds a part of the key: %v", err)
				}
			}
		})
	}
}

// mangle damages the body of a PEM text but keeps its form.
func mangle(text string) string {
	lines := strings.Split(text, "\n")
	lines[1] = strings.Repeat("A", len(lines[1]))
	return strings.Join(lines, "\n")
}
