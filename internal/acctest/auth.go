// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// authVariable, if it is not empty, gives every test authentication that does
// not ask for it itself: each cluster of [start] has a password from the
// beginning, each [Fleet] from the first apply that leaves a cluster, each
// provider block that a test writes has it, and at the end of the test it is
// checked where it was sent.
const authVariable = "ETCD_TEST_AUTH"

// authPassword is root's, then.
const authPassword = "every-cluster-has-this-one"

// withoutAuth are the tests that [authVariable] leaves as they are, and why.
var withoutAuth = map[string]string{}

// authEverywhere reports whether [authVariable] holds for a test.
func authEverywhere(tb testing.TB) bool {
	tb.Helper()
	if os.Getenv(authVariable) == "" {
		return false
	}
	test, _, _ := strings.Cut(tb.Name(), "/")
	why, out := withoutAuth[test]
	if out {
		tb.Logf("LEFT OUT: authentication, because %s", why)
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

// providerOpens is where a provider block begins; registries' have an alias.
var providerOpens = regexp.MustCompile(`(?m)^provider "etcd" \{(\n  alias|\n|)`)

// urlsInText are the addresses in URLs.
var urlsInText = regexp.MustCompile(`https?://([^"/\s]+)`)

// configure returns the text with the password in its provider blocks, if it is
// to be there and the text names no user, and notes the addresses beside them.
func (w *Workspace) configure(text string) string {
	if !providerOpens.MatchString(text) {
		return text
	}
	for _, found := range urlsInText.FindAllStringSubmatch(text, -1) {
		w.trusted[found[1]] = true
	}
	if !w.auth || strings.Contains(text, "username") {
		return text
	}
	return providerOpens.ReplaceAllStringFunc(text, func(opens string) string {
		if strings.HasSuffix(opens, "alias") {
			return opens
		}
		return fmt.Sprintf("provider \"etcd\" {\n  username = \"root\"\n  password = %q\n", authPassword)
	})
}

// checkAuth checks at the end of the test where the password went.
func (w *Workspace) checkAuth() {
	if !authEverywhere(w.tb) {
		return
	}
	w.auth = true
	record := w.Record()
	w.tb.Cleanup(func() {
		if w.auth { // and the test has not logged in by other means
			CheckSent(w.tb, record(), w.trusted, false)
		}
	})
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
