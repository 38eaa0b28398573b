// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

func FuzzImportID(f *testing.F) {
	for _, s := range []string{"abc", "v2:abc", "v3:/p:abc", "/p/q:abc", "service:https://d.example.com/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "v2:", ":", "v3:v2:abc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		what, problem := parseImportID(id)
		if problem != "" || what.protocol == bootstrap.ProtocolService {
			return
		}
		text := importID(what.protocol, what.prefix, what.token)
		if back, problem := parseImportID(text); problem != "" || back != what {
			t.Fatalf("parseImportID(%q) = %+v; written as %q and read as %+v, %q", id, what, text, back, problem)
		}
	})
}
