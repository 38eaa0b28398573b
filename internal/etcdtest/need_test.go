// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import "testing"

// verdict records the outcome of a test.
type verdict string

func (*verdict) Helper()                 {}
func (v *verdict) Skipf(string, ...any)  { *v += "skipped" }
func (v *verdict) Fatalf(string, ...any) { *v += "failed " }

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		program, ci, missing string
		want                 verdict
	}{
		{"sh", "true", "", ""},
		{"no-such-program", "", "", "skipped"},
		{"no-such-program", "true", "", "failed skipped"}, // this Fatalf returns
		{"no-such-program", "true", " other no-such-program", "skipped"},
		{"no-such", "true", "no-such-program", "failed skipped"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("CI_MISSING", c.missing)
		var got verdict
		if path := Need(&got, c.program); got != c.want || (path == "") != (c.want != "") {
			t.Errorf("%s, CI=%s CI_MISSING=%s: %q, %q; want %q", c.program, c.ci, c.missing, path, got, c.want)
		}
	}
}
