// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// clientName is the common name of the certificate that the clients of this
// package present. It is not the name of a user.
const clientName = "etcdtest"

// PKI is a certificate authority with certificates for etcd on loopback: files
// for etcd, and files for negative tests.
type PKI struct {
	// CAFile is the path of the authority's certificate, in PEM.
	CAFile string
	// Server is the certificate for client ports, Peer for peer ports. Both name
	// 127.0.0.1, ::1 and localhost and are also valid as client certificates.
	Server Cert
	Peer   Cert

	tb   TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	issued map[string]Cert
}

// Cert is the paths of a certificate and its key, in PEM.
type Cert struct {
	CertFile string
	KeyFile  string
}

const day = 24 * time.Hour

// NewPKI creates an authority with certificates that are valid for a day. Its
// files are removed when the test ends.
func NewPKI(tb TB) *PKI {
	tb.Helper()
	pki := &PKI{tb: tb, dir: tb.TempDir(), issued: map[string]Cert{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(tb, err)
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "etcdtest CA " + randomHex()},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(day),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must.Succeed(tb, err)
	pki.cert, err = x509.ParseCertificate(der)
	must.Succeed(tb, err)
	pki.key = key
	pki.CAFile = pki.write("ca.pem", "CERTIFICATE", der)
	pki.Server = pki.issue("server", "", true, day)
	pki.Peer = pki.issue("peer", "", true, day)
	return pki
}

// Host returns a certificate like Server that also names these addresses. Calls
// with the same name return the same certificate.
func (k *PKI) Host(name string, addresses ...string) Cert {
	k.tb.Helper()
	return k.issue("host-"+name, "", true, day, addresses...)
}

// Client returns a client certificate with the common name cn. With authentication
// on, etcd accepts it as the user of that name. Calls with the same name return the
// same certificate. Only the test's goroutine may call Client.
func (k *PKI) Client(cn string) Cert { k.tb.Helper(); return k.issue("client-"+cn, cn, false, day) }

// ExpiredClient returns a client certificate that expired an hour ago.
func (k *PKI) ExpiredClient(cn string) Cert {
	k.tb.Helper()
	return k.issue("expired-client-"+cn, cn, false, -time.Hour)
}

// ExpiredServer returns a server certificate like Server that expired an hour
// ago. To use it, set ETCD_CERT_FILE and ETCD_KEY_FILE.
func (k *PKI) ExpiredServer() Cert {
	k.tb.Helper()
	return k.issue("expired-server", "", true, -time.Hour)
}

// Renew replaces the files of Server by a certificate that is valid for two days.
func (k *PKI) Renew() {
	k.tb.Helper()
	renewed := k.issue("renewed-server", "", true, 2*day)
	for from, to := range map[string]string{renewed.CertFile: k.Server.CertFile, renewed.KeyFile: k.Server.KeyFile} {
		must.Succeed(k.tb, os.Rename(from, to))
	}
}

// ClientConfig returns the TLS configuration of a client that trusts k and
// presents cert, or no certificate if cert is the zero Cert.
func (k *PKI) ClientConfig(cert Cert) *tls.Config {
	k.tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(k.cert)
	cfg := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if cert != (Cert{}) {
		pair, err := tls.LoadX509KeyPair(cert.CertFile, cert.KeyFile)
		must.Succeed(k.tb, err)
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

// Environment returns the variables that enable mutual TLS on both ports.
func (k *PKI) Environment() map[string]string {
	return map[string]string{
		"ETCD_CERT_FILE":             k.Server.CertFile,
		"ETCD_KEY_FILE":              k.Server.KeyFile,
		"ETCD_TRUSTED_CA_FILE":       k.CAFile,
		"ETCD_CLIENT_CERT_AUTH":      "true",
		"ETCD_PEER_CERT_FILE":        k.Peer.CertFile,
		"ETCD_PEER_KEY_FILE":         k.Peer.KeyFile,
		"ETCD_PEER_TRUSTED_CA_FILE":  k.CAFile,
		"ETCD_PEER_CLIENT_CERT_AUTH": "true",
	}
}

// issue creates a certificate that expires after d, or returns the existing one
// with that file name.
func (k *PKI) issue(file, cn string, server bool, d time.Duration, addresses ...string) Cert {
	k.tb.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if cert, ok := k.issued[file]; ok {
		return cert
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(k.tb, err)
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: cn},
		NotBefore:    time.Now().Add(-2 * time.Hour),
		NotAfter:     time.Now().Add(d),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if server {
		// etcd also presents its server certificates as client certificates, to
		// its peers and to itself.
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = []string{"localhost"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
		for _, address := range addresses {
			template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, k.cert, &key.PublicKey, k.key)
	must.Succeed(k.tb, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must.Succeed(k.tb, err)
	cert := Cert{
		CertFile: k.write(file+".pem", "CERTIFICATE", der),
		KeyFile:  k.write(file+"-key.pem", "PRIVATE KEY", keyDER),
	}
	k.issued[file] = cert
	return cert
}

func (k *PKI) write(file, kind string, der []byte) string {
	k.tb.Helper()
	path := filepath.Join(k.dir, file)
	must.Succeed(k.tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

func randomHex() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// WebServer starts a web server with the certificate Server. It requests, but
// does not require, a client certificate. It stops when the test ends.
func (k *PKI) WebServer(handler http.Handler) *httptest.Server {
	k.tb.Helper()
	pair, err := tls.LoadX509KeyPair(k.Server.CertFile, k.Server.KeyFile)
	must.Succeed(k.tb, err)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	k.tb.Cleanup(server.Close)
	return server
}
