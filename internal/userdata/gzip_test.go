// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

func decompressed(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	must.Succeed(t, err)
	r, err := gzip.NewReader(bytes.NewReader(raw))
	must.Succeed(t, err)
	out, err := io.ReadAll(r) // with the checksum
	must.Succeed(t, err)
	return string(out)
}

// Test that compressed user data is the same text, that each cloud can take it, and that it
// fits into the 16 KiB of Amazon EC2, which do not count the base64 of cloud-init's, where
// that of a discovery does not.
func TestCompressed(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	all := goldens(t)
	all["largest"] = map[string]any{
		"etcd": aRelease(), "tls": map[string]any{"ca": must.Read(t, pki.CAFile), "cert": must.Read(t, pki.Server.CertFile), "key": must.Read(t, pki.Server.KeyFile)},
		"extra": map[string]any{"ignition": map[string]any{"version": "3.3.0"}},
	}
	for name, given := range all {
		given = maps.Clone(given)
		given["compress"] = false
		plain, _, err := Parse(given)
		must.Succeed(t, err)
		given["compress"] = true
		o, known, err := Parse(given)
		if err != nil || !known {
			t.Fatal(name, known, err)
		}
		n := member(Format, joinscript.Discovery().Base64Gzip)
		for extension, write := range writers {
			want, err := write(n, plain)
			must.Succeed(t, err)
			got, err := write(n, o)
			must.Succeed(t, err)
			data, size := got, len(got)*3/4
			if extension == ".ign" {
				var ign struct {
					Ignition struct {
						Version string
						Config  struct {
							Replace struct{ Compression, Source string }
						}
					}
				}
				must.Succeed(t, json.Unmarshal([]byte(got), &ign))
				from := ign.Ignition.Config.Replace
				if from.Compression != "gzip" || ign.Ignition.Version != ignitionVersion {
					t.Errorf("%s%s: %+v", name, extension, ign)
				}
				data, size = strings.TrimPrefix(from.Source, "data:;base64,"), len(got)
			}
			if text := decompressed(t, data); text != want {
				t.Errorf("%s%s: the text differs\n%s", name, extension, text)
			}
			t.Logf("%s%s: %d bytes of %d", name, extension, size, len(want))
			if size > 16<<10 || size >= len(want) {
				t.Errorf("%s%s: %d bytes of %d", name, extension, size, len(want))
			}
		}
	}
}
