// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// TLSMaterial gives the CA, the client certificate and its key: each is the path
// of a file, PEM text (see [membership.IsPEM]), or "".
type TLSMaterial struct {
	CACert, Cert string
	Key          Secret
	// InsecureSkipVerify disables verification of the server's certificate.
	InsecureSkipVerify bool
}

// TLSProblem is a kind of problem with TLS material.
type TLSProblem string

// The problems.
const (
	// CertWithoutKey and KeyWithoutCert: half of a client certificate is missing.
	CertWithoutKey TLSProblem = "certificate without key"
	KeyWithoutCert TLSProblem = "key without certificate"
	// Unreadable: the file cannot be read.
	Unreadable TLSProblem = "unreadable file"
	// NoPEM: the text contains no certificate or key in PEM form.
	NoPEM TLSProblem = "not PEM"
	// EncryptedKey: the key is protected by a pass phrase.
	EncryptedKey TLSProblem = "encrypted key"
	// KeyMismatch: the key does not belong to the certificate.
	KeyMismatch TLSProblem = "key of another certificate"
	// CertExpired and CertNotYetValid are about the client's certificate.
	CertExpired     TLSProblem = "certificate expired"
	CertNotYetValid TLSProblem = "certificate not yet valid"
)

// TLSError says which part of the TLS material is wrong, and why. It never
// contains the material itself.
type TLSError struct {
	// Argument is the provider's argument: ca_cert, cert or key.
	Argument string
	Problem  TLSProblem
	// Path is the file, "" for PEM text and for the key: what is given as its
	// path may be the key itself.
	Path string
	// When is the end or the beginning of the certificate's validity.
	When time.Time
	// Err is the original error, if there is one.
	Err error
}

// Error implements error.
func (e *TLSError) Error() string {
	text := e.Argument
	if path, ok := membership.Shown(e.Path); ok && path != "" {
		text += fmt.Sprintf(" %q", path)
	}
	text += ": " + string(e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the original error.
func (e *TLSError) Unwrap() error { return e.Err }

// Check reports half a client certificate, which needs no file to be read. The
// error is a [*TLSError].
func (m TLSMaterial) Check() error {
	switch {
	case m.Cert != "" && m.Key == "":
		return &TLSError{Argument: "cert", Problem: CertWithoutKey, Path: m.Cert}
	case m.Key != "" && m.Cert == "":
		return &TLSError{Argument: "key", Problem: KeyWithoutCert}
	}
	return nil
}

// Files reports whether any of the material is in files.
func (m TLSMaterial) Files() bool {
	return slices.ContainsFunc([]string{m.CACert, m.Cert, m.Key.Reveal()}, func(s string) bool { return s != "" && !membership.IsPEM(s) })
}

// LoadTLS reads TLS material. If there is none, it returns nil and no error:
// the system's CAs then verify an https endpoint. It checks the validity of the
// client certificate at now.
//
// Errors are of type [*TLSError].
func LoadTLS(m TLSMaterial, now time.Time) (*tls.Config, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if m == (TLSMaterial{}) {
		return nil, nil
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: m.InsecureSkipVerify, //nolint:gosec // the operator's explicit choice
	}
	if m.CACert != "" {
		ca, err := read("ca_cert", m.CACert)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca.pem) {
			return nil, ca.problem(NoPEM, nil)
		}
	}
	if m.Cert != "" {
		pair, err := keyPair(m, now)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// part is the CA, the certificate or the key.
type part struct {
	argument, path string
	pem            []byte
}

func (p part) problem(problem TLSProblem, err error) *TLSError {
	return &TLSError{Argument: p.argument, Problem: problem, Path: p.path, Err: err}
}

// read returns the named part.
func read(name, value string) (part, error) {
	if membership.IsPEM(value) {
		return part{argument: name, pem: []byte(value)}, nil
	}
	p := part{argument: name}
	if name != "key" {
		p.path = value
	}
	content, err := os.ReadFile(value)
	if err != nil {
		if pathErr, ok := errors.AsType[*os.PathError](err); ok {
			err = pathErr.Err
		}
		return part{}, p.problem(Unreadable, err)
	}
	p.pem = content
	return p, nil
}

// keyPair reads the client's certificate and its key. The standard library says only in the
// text of its error which of them is not usable.
func keyPair(m TLSMaterial, now time.Time) (pair tls.Certificate, err error) {
	cert, err := read("cert", m.Cert)
	if err != nil {
		return pair, err
	}
	key, err := read("key", m.Key.Reveal())
	if err != nil {
		return pair, err
	}
	if pair, err = tls.X509KeyPair(cert.pem, key.pem); err != nil {
		says := func(text string) bool { return strings.Contains(err.Error(), text) }
		switch {
		case says("certificate input"):
			return pair, cert.problem(NoPEM, nil)
		case strings.Contains(string(key.pem), "ENCRYPTED"): // also in "Proc-Type: 4,ENCRYPTED"
			return pair, key.problem(EncryptedKey, nil)
		case says("does not match"):
			return pair, key.problem(KeyMismatch, nil)
		case says("key input"), says("private key"):
			return pair, key.problem(NoPEM, nil)
		}
		return pair, cert.problem(NoPEM, nil)
	}
	switch leaf := pair.Leaf; {
	case now.Before(leaf.NotBefore):
		return pair, &TLSError{Argument: "cert", Path: cert.path, Problem: CertNotYetValid, When: leaf.NotBefore}
	case now.After(leaf.NotAfter):
		return pair, &TLSError{Argument: "cert", Path: cert.path, Problem: CertExpired, When: leaf.NotAfter}
	}
	return pair, nil
}
