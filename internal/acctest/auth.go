// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// authVariable, if not empty, enables authentication in every test that does
// not enable it itself: each cluster of [StartCluster] has a password from the
// beginning, each [Fleet] after the first apply that leaves a cluster, and each
// provider that a [Workspace] runs has it in its environment. At the end of the
// test, the destinations of the password are checked.
const authVariable = "ETCD_TEST_AUTH"

// AuthPassword is then the password of root.
const AuthPassword = "every-cluster-has-this-one"

// withoutAuth are the tests that ignore [authVariable], with the reasons.
var withoutAuth = map[string]string{
	"TestAccQuorumLost":                 noLogin,
	"TestAccDestroyWithThreeOfFiveDead": noLogin,
	"TestAccSilentIsNotLost":            noLogin,
	"TestAccSnapshotOfSurvivor":         noLogin,
	"TestAccRecovery":                   noLogin,
	"TestAccDestroyWithoutQuorum":       "the addresses in its text are not those of an address_map",
	"TestAccTwoAppliesAtOnce":           notNamed,
	"TestAccImportLearner":              notNamed,
	"TestAccAddresses":                  notNamed,
	"TestAccExampleSurge":               notNamed,
	"TestAccExampleUnknownAddresses":    notNamed,
	"TestAccMovedWithoutConfiguration":  notNamed,
	"TestAccDestroyHalfBootstrap":       "its cluster never forms",
	"TestAccMisunderstoodBootstrap":     "its members are clusters of their own",
}

// noLogin is why tests of a lost quorum cannot work with a password.
const noLogin = "without a quorum no login completes, and without a login no member says anything: TestAccQuorumLostWithPassword tests what is said then"

// notNamed is why tests cannot work with a password over http if their provider block
// does not name every member.
const notNamed = "it changes members whose URLs its provider block does not name, and they are not asked in clear text"

// authEverywhere reports whether [authVariable] applies to a test.
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

// StartCluster is [etcdtest.Start] for a cluster that the provider uses.
func StartCluster(tb testing.TB, n int, o etcdtest.Options) *etcdtest.Cluster {
	tb.Helper()
	if o.Password == "" && authEverywhere(tb) {
		o.Password = AuthPassword
	}
	return etcdtest.Start(tb, n, o)
}

// urlsInText matches the addresses in URLs.
var urlsInText = regexp.MustCompile(`(?i)https?://([^"/\s]+)`)

// Trust records the addresses in a text of the configuration.
func (w *Workspace) Trust(text string) {
	for _, found := range urlsInText.FindAllStringSubmatch(text, -1) {
		w.Trusted[strings.ToLower(found[1])] = true
	}
}

// giveAuth gives every provider of the workspace the password. At the end of
// the test it checks to which addresses it was sent.
func (w *Workspace) giveAuth() {
	if w.Auth = authEverywhere(w.TB); !w.Auth {
		return
	}
	record := w.Record()
	w.TB.Cleanup(func() {
		if w.Auth {
			CheckSent(w.TB, record(), w.Trusted, false) // also with a certificate: see checkSecrets
		}
	})
}

// TakeAuth leaves the credentials to the test.
func (w *Workspace) TakeAuth() { w.Auth = false }

// environment returns variables that the test's own settings override.
func (w *Workspace) environment() (out []string) {
	if w.Auth {
		out = append(out, "ETCDCTL_USER=root", "ETCDCTL_PASSWORD="+AuthPassword)
	}
	if w.recordAt != "" {
		out = append(out, recordVariable+"="+w.recordAt)
	}
	return out
}

// password returns the password of root, or "" without authentication.
func (f *Fleet) password() string {
	if f.Auth {
		return AuthPassword
	}
	return f.Options.Password
}

// Login adds credentials to the configuration of a client if authentication is
// already on.
func (f *Fleet) Login(cfg clientv3.Config) clientv3.Config {
	if f.AuthEnabled {
		cfg.Username, cfg.Password = "root", f.password()
		cfg.DialTimeout = 30 * time.Second // for the login, which waits for a member that restarts
	}
	return cfg
}

// authFollows enables authentication, if the test requires it, when there is a
// cluster.
func (f *Fleet) authFollows() {
	f.TB.Helper()
	if !f.Auth || f.AuthEnabled {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := f.Client().MemberList(ctx); err == nil {
		f.EnableAuth()
	}
}

// mustHaveAuth fails the test if authentication was required but never enabled.
func (f *Fleet) mustHaveAuth() {
	if f.Auth && !f.AuthEnabled && !f.TB.Failed() {
		f.TB.Errorf("%s is set, and authentication was never turned on: let an apply of the test leave a cluster, or say in withoutAuth why none does", authVariable)
	}
}

// nameMembers names the client URLs of all present and former nodes in the provider
// block, if a password goes over http: a member at another URL would not be asked. A
// block that the test has written stays.
func (f *Fleet) nameMembers() {
	if !f.Auth || f.Options.TLS != nil {
		return
	}
	before := f.providerBlock()
	for _, node := range f.Nodes {
		for _, u := range slices.Concat(node.Clients, []string{node.Client}) {
			f.named[u] = true
		}
	}
	if now := f.providerBlock(); now != before && f.Read("provider.tf") == before {
		f.Write("provider.tf", now)
	}
}

// namedMembers is the argument with which [Fleet.nameMembers] does that.
func (f *Fleet) namedMembers() string {
	if len(f.named) == 0 {
		return ""
	}
	var b strings.Builder
	for _, u := range slices.Sorted(maps.Keys(f.named)) {
		fmt.Fprintf(&b, "    %q = %q\n", u, u)
	}
	return "  address_map = {\n" + b.String() + "  }\n"
}
