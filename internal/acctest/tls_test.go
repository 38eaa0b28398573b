// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A life with mutual TLS and a password, which is configured before authentication is on
// and required afterwards. Even the trace log contains no secrets. The cluster forms by a
// token, grows, and rolls without the token, which the destroy removes.
func TestAccLifeWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	const password = "Wq9zLkT4-not-to-be-seen"
	pki := etcdtest.NewPKI(t)
	f := NewFleet(t, FleetOptions{TLS: pki, Password: password, Registry: etcdtest.V35})
	trace := filepath.Join(filepath.Dir(f.Dir), "trace.log")
	f.Env = append(f.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+trace)
	f.Form().MustBeQuiet()
	etcdtest.EnableAuth(t, f.Client(), password)
	f.authEnabled = true
	f.Settled()
	f.Add("d")
	f.Form().MustBeQuiet()
	f.Image = "two"
	before := f.MemberIDs()
	f.Form()
	f.MustHaveReplaced(before, "a")
	states := f.Read("terraform.tfstate") + f.Read("terraform.tfstate.backup")
	f.Destroy().MustSucceed()
	f.MustBeGone()
	left, err := f.Registry.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) > 0 {
		t.Errorf("left in the discovery cluster: %v, %v", left, err)
	}

	log, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte("[TRACE]")) || !bytes.Contains(log, []byte("etcd_member")) {
		t.Fatal("the log is not the trace log")
	}
	mustNotHold(t, "the log", log, password, pki)
	for _, r := range f.runs {
		o := r.outcome()
		if o.Args[0] != "show" { // the CLI itself repeats the configuration there
			mustNotHold(t, "the output of "+o.Args[0], append(o.Stdout, o.Stderr...), password, pki)
		}
	}
	mustNotHold(t, "the state", []byte(states), password, pki)
}

// mustNotHold fails the test if the text contains the password or a line of a
// private key.
func mustNotHold(t *testing.T, what string, text []byte, password string, pki *etcdtest.PKI) {
	t.Helper()
	secrets := []string{password}
	for _, cert := range []etcdtest.Cert{pki.Client("root"), pki.Server, pki.Peer} {
		key, err := os.ReadFile(cert.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(key)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && len(line) >= 20 {
				secrets = append(secrets, line)
			}
		}
	}
	for i, secret := range secrets {
		if at := bytes.Index(text, []byte(secret)); at >= 0 {
			t.Errorf("%s contains secret %d: …%s…", what, i, text[max(0, at-300):min(len(text), at+60)])
		}
	}
}
