// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"cmp"
	"crypto/tls"
	"encoding/pem"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Options are the settings of a machine that its node does not have.
type Options struct {
	// release is what the machine downloads, or nil if the image has etcd or if
	// the machine downloads the official release of the node's version.
	release *release
	// bin is the directory of etcd in the image, or "" if the machine downloads it.
	bin string
	// official is true if the machine downloads the release of the node's version.
	official bool
	// tls is for clients and peerTLS for peers. Either may be nil. Peers that
	// listen on https:// use tls if peerTLS is nil.
	tls, peerTLS certificates
	// dataDir is the data directory.
	dataDir string
	// dataDisk is mounted at dataDir. It is nil for the root disk.
	dataDisk *dataDisk
	// Environment holds additional ETCD_* variables.
	Environment map[string]string
	// extra is a cloud-config or an Ignition configuration that is merged into
	// the result, or nil.
	extra map[string]any
	// compress makes the result smaller, for the limit of a cloud.
	compress bool
}

// dataDisk is a block device for the data directory. It is formatted only if it
// has no file system.
type dataDisk struct{ device, filesystem string }

// certificates are the files of a CA, a certificate and its key, each with the end of
// the variable for its path. A file without content is on the machine already.
type certificates []struct {
	variable string
	file
}

// tlsFiles are the options of [certificates], the end of the name of the file that is
// written for a PEM text, and the types of the blocks of such a text.
var tlsFiles = []struct {
	key, variable, name, mode string
	types                     []string
}{
	{"ca", "TRUSTED_CA_FILE", "-ca.pem", "0644", []string{"CERTIFICATE"}},
	{"cert", "CERT_FILE", ".pem", "0644", []string{"CERTIFICATE"}},
	{"key", "KEY_FILE", "-key.pem", "0600", []string{"PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "EC PARAMETERS"}},
}

// Unknown represents a value that is not known yet.
type Unknown struct{}

// Problem is a kind of problem with an option. It completes the sentence "Option tls.key ...".
type Problem string

// The problems of options.
const (
	UnknownOption    Problem = "does not exist"
	MissingOption    Problem = "is missing"
	NotObject        Problem = "must be an object"
	NotText          Problem = "must be a string"
	NotBool          Problem = "must be true or false"
	NotHTTPS         Problem = "must be an https:// URL without a user name"
	NotSHA256        Problem = "must be a SHA-256 of 64 lowercase hexadecimal digits, as in the SHA256SUMS file of the release"
	NotPath          Problem = "must be an absolute path of letters, digits and the characters _ . / : + @ -"
	NotPEM           Problem = "must be the text of a PEM file with certificates, or with one unencrypted private key, or an absolute path on the machine"
	NotPair          Problem = "does not fit: the private key is not the key of the certificate"
	NotFilesystem    Problem = "must be a file system that the image can make"
	NoVersion        Problem = "is missing. The node has no version, so the official release to download is not known. Add the option, or set version of the etcd_cluster"
	NotVersion       Problem = "is missing, and version of the node is not that of an official release. Expected three numbers, such as 3.6.16"
	EitherOr         Problem = "must have one of the two ways to get etcd, not both"
	NotVariable      Problem = "must have variable names that begin with ETCD_"
	ReservedVariable Problem = "is not allowed: the node or another option sets this variable. Remove it from environment"
	RemovedVariable  Problem = "is ignored by etcd 3.7 and later. Change it while the members run 3.6, which knows both"
	NeededForHTTPS   Problem = "is missing. The member listens on https:// URLs, which need a certificate. Add the option, or give the member http:// URLs in members of the etcd_cluster"
	UnusedForHTTP    Problem = "has no use: the member listens on http:// URLs only. Remove the option, or give the member https:// URLs in members of the etcd_cluster"
	Taken            Problem = "is a key that the user data has already, and not a list that can be appended to"
)

// OptionError means that an option cannot be used. It never contains a value
// that may be secret.
type OptionError struct {
	Path    string // such as tls.key
	Problem Problem
	Value   string   // the given value, if it can be shown
	Allowed []string // the valid keys or values, if there are few
}

// Error implements error.
func (e *OptionError) Error() string { return "userdata: " + e.Path + ": " + string(e.Problem) }

// filesystems are those that etcd's documentation recommends. Every image can
// create the first one.
var filesystems = []string{"ext4", "xfs"}

// Parse parses options: maps of texts and maps, with [Unknown] for unknown
// values. It checks the keys and the known values. known is false if any value
// is unknown, and the options are then incomplete.
func Parse(given map[string]any) (o Options, known bool, err error) {
	r := &reader{known: true}
	root := r.object("", given, "etcd", "tls", "peer_tls", "data_dir", "data_disk", "environment", "extra", "compress")
	o.dataDir = cmp.Or(r.path("data_dir", root["data_dir"]), defaultDataDir)
	r.etcd(&o, root["etcd"])
	o.tls = r.tls("tls", root["tls"], "server")
	o.peerTLS = r.tls("peer_tls", root["peer_tls"], "peer")
	if disk, ok := root["data_disk"]; ok {
		d := r.object("data_disk", disk, "device", "filesystem")
		o.dataDisk = &dataDisk{device: r.path("data_disk.device", r.required("data_disk", d, "device")), filesystem: filesystems[0]}
		if fs, ok := d["filesystem"]; ok {
			o.dataDisk.filesystem = r.text("data_disk.filesystem", fs)
			if r.err == nil && r.is(fs) && !slices.Contains(filesystems, o.dataDisk.filesystem) {
				r.fail("data_disk.filesystem", NotFilesystem, o.dataDisk.filesystem, filesystems...)
			}
		}
	}
	o.Environment = r.environment(root["environment"])
	o.extra = r.anyObject("extra", root["extra"])
	r.known = r.known && !hasUnknown(o.extra)
	compress, isBool := root["compress"].(bool)
	if given := root["compress"]; given != nil && r.is(given) && !isBool {
		r.fail("compress", NotBool, "")
	}
	o.compress = compress
	return o, r.known, r.err
}

// reader parses options and keeps the first error.
type reader struct {
	known bool
	err   error
}

func (r *reader) fail(path string, p Problem, value string, allowed ...string) {
	if r.err == nil {
		r.err = &OptionError{Path: path, Problem: p, Value: value, Allowed: allowed}
	}
}

// is reports whether a value is known.
func (r *reader) is(v any) bool {
	_, unknown := v.(Unknown)
	r.known = r.known && !unknown
	return !unknown
}

func hasUnknown(v any) bool {
	switch v := v.(type) {
	case Unknown:
		return true
	case []any:
		return slices.ContainsFunc(v, hasUnknown)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasUnknown)
	}
	return false
}

func at(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// anyObject returns an object without its null values.
func (r *reader) anyObject(path string, v any) map[string]any {
	if v == nil || !r.is(v) {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(path, NotObject, "")
		return nil
	}
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}

// object is like [reader.anyObject], but rejects other keys than these.
func (r *reader) object(path string, v any, keys ...string) map[string]any {
	m := r.anyObject(path, v)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(keys, key) {
			r.fail(at(path, key), UnknownOption, "", keys...)
		}
	}
	return m
}

func (r *reader) required(path string, m map[string]any, key string) any {
	v, ok := m[key]
	if !ok && m != nil {
		r.fail(at(path, key), MissingOption, "")
	}
	return v
}

// text returns a text, or "" if it is unknown or null.
func (r *reader) text(path string, v any) string {
	if v == nil || !r.is(v) {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(path, NotText, "")
	}
	return s
}

// path returns an absolute path; see [isPath].
func (r *reader) path(name string, v any) string {
	s := r.text(name, v)
	if v != nil && r.is(v) && !isPath(s) {
		r.fail(name, NotPath, s)
	}
	return s
}

// isPath reports whether a text is an absolute path that needs no quotes in a unit.
func isPath(s string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+@-"
	return path.IsAbs(s) && path.Clean(s) == s && s != "/" && strings.Trim(s, plain) == ""
}

func (r *reader) tls(name string, v any, side string) certificates {
	m := r.object(name, v, "ca", "cert", "key")
	if m == nil {
		return nil
	}
	t := make(certificates, len(tlsFiles))
	for i, f := range tlsFiles {
		given := r.file(name, m, f.key, f.types)
		t[i].variable, t[i].path = f.variable, given
		if membership.IsPEM(given) {
			t[i].file = file{path: tlsDir + side + f.name, content: given, mode: f.mode, owned: true}
		}
	}
	if cert, key := t[1].content, t[2].content; r.err == nil && cert != "" && key != "" {
		if _, err := tls.X509KeyPair([]byte(cert), []byte(key)); err != nil {
			r.fail(name, NotPair, "")
		}
	}
	return t
}

// file returns the text of a PEM file with blocks of the given types, or a path.
func (r *reader) file(name string, m map[string]any, key string, types []string) string {
	v := r.required(name, m, key)
	s := r.text(at(name, key), v)
	if r.err != nil || v == nil || !r.is(v) {
		return s
	}
	if !membership.IsPEM(s) {
		if !isPath(s) { // it may be a key, so the value is not shown
			r.fail(at(name, key), NotPEM, "")
		}
		return s
	}
	for rest := []byte(s); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || !slices.Contains(types, block.Type) {
			r.fail(at(name, key), NotPEM, "")
			return s
		}
		if strings.TrimSpace(string(rest)) == "" {
			return s
		}
	}
}

func (r *reader) environment(v any) map[string]string {
	m := r.anyObject("environment", v)
	if m == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(name, "ETCD_") || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			r.fail("environment", NotVariable, name)
		}
		out[name] = r.text("environment."+name, m[name])
		if reserved(name) {
			r.fail("environment."+name, ReservedVariable, "")
		}
	}
	return out
}
