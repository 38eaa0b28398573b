// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The whole life of a cluster with mutual TLS and a password, which is
// configured before authentication is on and required afterwards. Even the
// trace log contains no secrets.
func TestAccLifeWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	const password = "Wq9zLkT4-not-to-be-seen"
	pki := etcdtest.NewPKI(t)
	f := NewFleet(t, FleetOptions{TLS: pki, Password: password})
	trace := filepath.Join(filepath.Dir(f.Dir), "trace.log")
	f.Env = append(f.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+trace)
	life(t, f)

	log, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte("[TRACE]")) || !bytes.Contains(log, []byte("etcd_member")) {
		t.Fatal("the log is not the one that was asked for")
	}
	mustNotHold(t, "the log", log, password, pki)
	for _, r := range f.runs {
		o := r.outcome()
		if o.Args[0] == "show" {
			continue // the CLI itself repeats the configuration there
		}
		mustNotHold(t, "what "+o.Args[0]+" printed", append(o.Stdout, o.Stderr...), password, pki)
	}
	mustNotHold(t, "the state", []byte(f.Read("terraform.tfstate")+f.Read("terraform.tfstate.backup")), password, pki)
}

// mustNotHold fails the test if the text contains the password or a line of a
// private key.
func mustNotHold(t *testing.T, what string, text []byte, password string, pki *etcdtest.PKI) {
	t.Helper()
	if i := bytes.Index(text, []byte(password)); i >= 0 {
		t.Errorf("%s holds the password: …%s…", what, text[max(0, i-300):min(len(text), i+60)])
	}
	for _, cert := range []etcdtest.Cert{pki.Client("root"), pki.Server, pki.Peer} {
		key, err := os.ReadFile(cert.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(key)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "-----") || len(line) < 20 {
				continue
			}
			if i := bytes.Index(text, []byte(line)); i >= 0 {
				t.Errorf("%s holds a private key: …%s…", what, text[max(0, i-300):min(len(text), i+60)])
			}
		}
	}
}
