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
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, problem("ca_cert", m.CACert, NoPEM, nil)
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

// problem returns the error for an argument and its value.
func problem(argument, value string, is TLSProblem, err error) *TLSError {
	e := &TLSError{Argument: argument, Problem: is, Err: err}
	if argument != "key" && !membership.IsPEM(value) {
		e.Path = value
	}
	return e
}

// read returns the PEM text that an argument gives.
func read(argument, value string) ([]byte, error) {
	if membership.IsPEM(value) {
		return []byte(value), nil
	}
	content, err := os.ReadFile(value)
	if err != nil {
		if pathErr, ok := errors.AsType[*os.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, problem(argument, value, Unreadable, err)
	}
	return content, nil
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
	ofCert := func(is TLSProblem) *TLSError { return problem("cert", m.Cert, is, nil) }
	ofKey := func(is TLSProblem) *TLSError { return problem("key", m.Key.Reveal(), is, nil) }
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		says := func(text string) bool { return strings.Contains(err.Error(), text) }
		switch {
		case says("certificate input"):
			return pair, ofCert(NoPEM)
		case strings.Contains(string(key), "ENCRYPTED"): // also in "Proc-Type: 4,ENCRYPTED"
			return pair, ofKey(EncryptedKey)
		case says("does not match"):
			return pair, ofKey(KeyMismatch)
		case says("key input"), says("private key"):
			return pair, ofKey(NoPEM)
		}
		return pair, ofCert(NoPEM)
	}
	valid := ofCert(CertNotYetValid)
	switch valid.When = pair.Leaf.NotBefore; {
	case now.Before(pair.Leaf.NotBefore):
		return pair, valid
	case now.After(pair.Leaf.NotAfter):
		valid.Problem, valid.When = CertExpired, pair.Leaf.NotAfter
		return pair, valid
	}
	return pair, nil
}
