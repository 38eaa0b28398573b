// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// authVariable, if it is not empty, gives every test authentication that does
// not ask for it itself: each cluster of [start] has a password from the
// beginning, each [Fleet] from the first apply that leaves a cluster, each
// provider that a [Workspace] runs has it in its environment, and at the end of
// the test it is checked where it was sent.
const authVariable = "ETCD_TEST_AUTH"

// authPassword is root's, then.
const authPassword = "every-cluster-has-this-one"

// withoutAuth are the tests that [authVariable] leaves as they are, and why.
var withoutAuth = map[string]string{
	"TestAccQuorumLost":                                     noLogin,
	"TestAccDestroyWithThreeOfFiveDead":                     noLogin,
	"TestAccSilentIsNotLost":                                noLogin,
	"TestAccSnapshotOfSurvivor":                             noLogin,
	"TestAccDestroyHalfBootstrap":                           "its cluster never forms",
	"TestAccRolloutInOneApplyEntangled/one_rollout_for_all": "it plans alone",
	"TestAccMisunderstoodBootstrap":                         "its members are clusters of their own",
}

// noLogin is what tests of a lost quorum cannot see with a password.
const noLogin = "without a quorum no login completes, and without a login no member says anything: TestAccQuorumLostWithPassword tests what is said then"

// authEverywhere reports whether [authVariable] holds for a test.
func authEverywhere(tb testing.TB) bool {
	tb.Helper()
	if os.Getenv(authVariable) == "" {
		return false
	}
	test, _, _ := strings.Cut(tb.Name(), "/")
	why, out := withoutAuth[test]
	if one, is := withoutAuth[tb.Name()]; is {
		why, out = one, true
	}
	if out {
		tb.Logf("without authentication, because %s", why)
	}
	return !out
}

// start is [etcdtest.Start] for a cluster that the provider asks.
func start(tb testing.TB, n int, o etcdtest.Options) *etcdtest.Cluster {
	tb.Helper()
	if o.Password == "" && authEverywhere(tb) {
		o.Password = authPassword
	}
	return etcdtest.Start(tb, n, o)
}

// urlsInText are the addresses in URLs.
var urlsInText = regexp.MustCompile(`(?i)https?://([^"/\s]+)`)

// names notes the addresses that a text of the configuration names.
func (w *Workspace) names(text string) {
	for _, found := range urlsInText.FindAllStringSubmatch(text, -1) {
		w.trusted[strings.ToLower(found[1])] = true
	}
}

// giveAuth gives every provider of the workspace the password, and checks at the
// end of the test where it went.
func (w *Workspace) giveAuth() {
	if w.auth = authEverywhere(w.tb); !w.auth {
		return
	}
	record := w.Record()
	w.tb.Cleanup(func() {
		if w.auth {
			CheckSent(w.tb, record(), w.trusted, false) // with a certificate too: see checkSecrets
		}
	})
}

// takeAuth leaves the credentials to the test.
func (w *Workspace) takeAuth() { w.auth = false }

// environment is what the tests' own settings come after.
func (w *Workspace) environment() (out []string) {
	if w.auth {
		out = append(out, "ETCDCTL_USER=root", "ETCDCTL_PASSWORD="+authPassword)
	}
	if w.recordAt != "" {
		out = append(out, recordVariable+"="+w.recordAt)
	}
	return out
}

// password is root's, "" where there is to be no authentication.
func (f *Fleet) password() string {
	if f.auth {
		return authPassword
	}
	return f.opts.Password
}

// login returns the configuration of a client that can log in, if that is needed
// by now.
func (f *Fleet) login(cfg clientv3.Config) clientv3.Config {
	if f.AuthEnabled {
		cfg.Username, cfg.Password = "root", f.password()
		cfg.DialTimeout = 30 * time.Second // of the login, which waits for a member that restarts
	}
	return cfg
}

// authFollows turns authentication on, if it is to be and is not, once there is
// a cluster.
func (f *Fleet) authFollows() {
	f.tb.Helper()
	if !f.auth || f.AuthEnabled {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := f.Client().MemberList(ctx); err == nil {
		f.EnableAuth()
	}
}

// mustHaveAuth fails a test that proves nothing with authentication.
func (f *Fleet) mustHaveAuth() {
	if f.auth && !f.AuthEnabled && !f.tb.Failed() {
		f.tb.Errorf("%s is set, and authentication was never turned on: let an apply of the test leave a cluster, or say in withoutAuth why none does", authVariable)
	}
}
