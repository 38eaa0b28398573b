// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"maps"
	"testing"
)

func TestParseImportID(t *testing.T) {
	for id, want := range map[string]map[string]string{
		`{"a":"3.6.16"}`:                     {"a": "3.6.16"},
		` { "a" : "" , "b.c": "x,y=z {}" } `: {"a": "", "b.c": "x,y=z {}"},
		`{"a":"it\u0027s"}`:                  {"a": "it's"},
	} {
		if got, err := parseImportID(id); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", id, got, err, want)
		}
	}
	for _, id := range []string{"", "a", "a=1", "{}", "null", "[]", `["a"]`, `{"a":1}`, `{"a":null}`, `{"a":{"b":"c"}}`, `{"a":"1"} x`, `{"a":"1"`} {
		if got, err := parseImportID(id); err == nil {
			t.Errorf("%q is read as %v", id, got)
		}
	}
}
