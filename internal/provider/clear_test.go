// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Every type that has endpoints warns if the password is sent to them in clear text,
// once.
func TestEveryTypeWarnsOfAPasswordInTheClear(t *testing.T) {
	t.Parallel()
	port := etcdtest.ReservePort(t)
	base := bases(fmt.Sprintf("127.0.0.1:%d", port), t.TempDir(), etcdtest.NewPKI(t))
	all, block := kinds(t, base)
	for _, k := range all {
		if k.name == "provider" || !slices.ContainsFunc(k.arguments, func(a argument) bool { return a.path[0] == "endpoints" }) {
			continue
		}
		s := newSession(t, block, base["provider"])
		for range 2 {
			k.run(s, with(base[k.name], []string{"endpoints"}, []any{fmt.Sprintf("http://0.0.0.0:%d", port)})) // no loopback address, and no other machine
		}
		if got := strings.Count(strings.Join(s.texts, "\n"), "The password is sent in clear text"); got != 1 {
			t.Errorf("%s: %d warnings in %q", k.name, got, s.texts)
		}
	}
}
