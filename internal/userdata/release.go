// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"net/url"
	"regexp"
	"strings"
)

// release is an archive of a release of etcd.
type release struct{ url, sha256 string }

// isVersion matches the version of a release.
var isVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// etcd reads where the machine has etcd from.
func (r *reader) etcd(o *Options, v any) {
	if o.official = v == nil; o.official {
		return
	}
	m := r.object("etcd", v, "url", "sha256", "path")
	if m == nil {
		return
	}
	if dir, ok := m["path"]; ok {
		o.bin = r.path("etcd.path", dir)
		if len(m) > 1 {
			r.fail("etcd", EitherOr, "", "path", "url and sha256")
		}
		return
	}
	o.release = &release{
		url:    r.text("etcd.url", r.required("etcd", m, "url")),
		sha256: r.text("etcd.sha256", r.required("etcd", m, "sha256")),
	}
	if r.err != nil {
		return
	}
	if u, err := url.Parse(o.release.url); r.is(m["url"]) && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
		r.fail("etcd.url", NotHTTPS, "")
	}
	if r.is(m["sha256"]) && (len(o.release.sha256) != 64 || strings.Trim(o.release.sha256, "0123456789abcdef") != "") {
		r.fail("etcd.sha256", NotSHA256, o.release.sha256)
	}
}

// CheckVersion returns an error if neither the options nor the version of the node,
// "" for none, say which etcd the machine runs.
func (o Options) CheckVersion(version string) error {
	switch {
	case !o.official:
		return nil
	case version == "":
		return &OptionError{Path: "etcd", Problem: NoVersion}
	case !isVersion.MatchString(version):
		return &OptionError{Path: "etcd", Problem: NotVersion, Value: version}
	}
	return nil
}

// downloads reports whether the machine downloads etcd.
func (o Options) downloads() bool { return o.release != nil || o.official }
