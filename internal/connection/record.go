// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build etcdrecord

package connection

import (
	"crypto/tls"
	"encoding/json"
	"os"
	"sync"
)

// RecordVariable names the file to which a provider built with the tag etcdrecord
// appends each connection and credential use, one JSON object per line.
const RecordVariable = "ETCD_RECORD_CONNECTIONS"

var recording sync.Mutex

// record notes that a kind of credential is sent, but not its value.
func (w wire) record(kind string) {
	path := os.Getenv(RecordVariable)
	if path == "" {
		return
	}
	line, err := json.Marshal(map[string]string{"scheme": w.scheme, "address": w.address, "sent": kind})
	if err != nil {
		panic(err)
	}
	recording.Lock()
	defer recording.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // a record with a gap is useless
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// recordCertificate returns a configuration that records when the client
// certificate is sent.
func (w wire) recordCertificate(config *tls.Config) *tls.Config {
	if config == nil || len(config.Certificates) == 0 {
		return config
	}
	config = config.Clone()
	certificates := config.Certificates
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range certificates {
			if info.SupportsCertificate(&certificates[i]) == nil {
				w.record(sentCertificate)
				return &certificates[i], nil
			}
		}
		return &tls.Certificate{}, nil
	}
	return config
}
