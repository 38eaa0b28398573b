// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package userdata generates the user data of a machine that runs one member,
// for cloud-init and Ignition. The result depends only on the arguments and on
// a format number that each node keeps from its creation, so the user data of a
// running machine never changes by itself.
package userdata

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Format is the newest format number. A released format never changes: any
// difference gets a new number. The golden files cover each format.
const Format = 1

// FormatError is a format number that this version does not support, because a
// later version made the node.
type FormatError int

// Error implements error.
func (e FormatError) Error() string { return fmt.Sprintf("userdata: unknown format %d", int(e)) }

// Node holds the parts of a node of an etcd_cluster that user data contains. All
// are frozen when the node is built.
type Node struct {
	Environment          map[string]string // ETCD_* of the member
	JoinScriptBase64Gzip string
	Format               int
	Version              string // of etcd, or ""
}

// Names on the machine.
const (
	user           = "etcd"
	joinName       = "/etcd-join"
	envPath        = "/etc/etcd/etcd.env"
	tlsDir         = "/etc/etcd/tls/"
	unitName       = "etcd.service"
	defaultDataDir = "/var/lib/etcd"
	releases       = "https://github.com/etcd-io/etcd/releases/download/v"
)

// file is a file on the machine.
type file struct {
	path, content string
	mode          string // octal, with a leading zero
	base64Gzip    bool   // content is base64 of gzip
	owned         bool   // by the user etcd, otherwise by root
}

// machine holds what runs a member, for both cloud-init and Ignition.
type machine struct {
	files []file
	unit  string
}

// newMachine returns the files and the unit of a member. programs is the
// directory for programs that the user data installs.
func newMachine(n Node, o Options, programs string) (machine, error) {
	if n.Format < 1 || n.Format > Format {
		return machine{}, FormatError(n.Format)
	}
	if err := o.CheckVersion(n.Version); err != nil {
		return machine{}, err
	}
	if o.bin == "" {
		o.bin = programs
	}
	variables := map[string]string{}
	maps.Copy(variables, n.Environment)
	variables["ETCD_DATA_DIR"], variables["ETCD_JOIN_BIN"] = o.dataDir, o.bin
	switch {
	case o.release != nil:
		variables["ETCD_JOIN_RELEASE_URL"], variables["ETCD_JOIN_RELEASE_SHA256"] = o.release.url, o.release.sha256
	case o.official:
		variables["ETCD_JOIN_RELEASE_URL"] = releases + n.Version
	}
	if listen := variables["ETCD_LISTEN_PEER_URLS"]; o.peerTLS == nil && (listen == "" || strings.Contains(listen, "https://")) {
		o.peerTLS = o.tls
	}
	files := append([]file{{path: programs + joinName, content: n.JoinScriptBase64Gzip, mode: "0755", base64Gzip: true}}, o.certificates(variables)...)
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		if _, taken := variables[name]; taken || reserved(name) {
			return machine{}, &OptionError{Path: "environment." + name, Problem: ReservedVariable}
		}
		variables[name] = o.Environment[name]
	}
	if err := cmp.Or(compaction(variables), schemes(variables)); err != nil {
		return machine{}, err
	}
	files = append(files, file{path: envPath, content: EnvironmentFile(variables), mode: "0600"})
	return machine{files: files, unit: unit(o, programs)}, nil
}

// certificates returns the files of the certificates given as text, and sets
// the variables of all certificates.
func (o Options) certificates(variables map[string]string) []file {
	var files []file
	for _, part := range []struct {
		tls    certificates
		prefix string
	}{{o.tls, "ETCD_"}, {o.peerTLS, "ETCD_PEER_"}} {
		if part.tls == nil {
			continue
		}
		for _, f := range part.tls {
			if f.content != "" && !slices.ContainsFunc(files, func(o file) bool { return o.path == f.path }) {
				files = append(files, f.file)
			}
			variables[part.prefix+f.variable] = f.path
		}
		variables[part.prefix+"CLIENT_CERT_AUTH"] = "true"
	}
	return files
}

// compaction adds the default retention of etcd's history. etcd keeps all of it by
// default, until the database reaches its quota and refuses writes. An hour is longer
// than a watcher needs to come back. The default is a period, so another mode needs a
// retention of its own: without one, etcd would not start, or would compact nothing.
func compaction(variables map[string]string) error {
	const mode, retention = "ETCD_AUTO_COMPACTION_MODE", "ETCD_AUTO_COMPACTION_RETENTION"
	if _, given := variables[retention]; given {
		return nil
	}
	if m := variables[mode]; m != "" && m != "periodic" {
		return &OptionError{Path: "environment." + retention, Problem: MissingOption}
	}
	variables[retention] = "1h"
	return nil
}

// schemes returns an error if the listen URLs of the process do not match its
// certificates: etcd would not start, or would ignore the certificates.
func schemes(variables map[string]string) error {
	for _, side := range []struct{ urls, prefix, option string }{
		{"ETCD_LISTEN_CLIENT_URLS", "ETCD_", "tls"},
		{"ETCD_LISTEN_PEER_URLS", "ETCD_PEER_", "peer_tls"},
	} {
		urls := variables[side.urls]
		encrypted := strings.Contains(urls, "https://")
		hasTLS := variables[side.prefix+"CERT_FILE"] != "" || variables[side.prefix+"AUTO_TLS"] == "true"
		switch {
		case urls == "":
		case encrypted && !hasTLS:
			return &OptionError{Path: side.option, Problem: NeededForHTTPS}
		case !encrypted && hasTLS:
			return &OptionError{Path: side.option, Problem: UnusedForHTTP}
		}
	}
	return nil
}

// reserved reports whether only the node may set a variable. The node and the
// join script decide how the member starts.
func reserved(name string) bool {
	prefixes := []string{"ETCD_INITIAL_", "ETCD_DISCOVERY", "ETCD_JOIN_", "ETCD_FORCE_NEW_CLUSTER", "ETCD_CONFIG_FILE"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) ||
		slices.Contains([]string{"ETCD_NAME", "ETCD_WAL_DIR", "ETCD_ADVERTISE_CLIENT_URLS"}, name)
}

// unit returns the service unit of the member, for format 1. It runs a single
// process, because systemd applies RestartPreventExitStatus to the main process
// only.
func unit(o Options, programs string) string {
	install := "ExecStartPre=+" + programs + joinName + " install\n"
	if !o.downloads() {
		install = ""
	}
	return `[Unit]
Description=etcd
Documentation=https://etcd.io/docs/
Wants=network-online.target
After=network-online.target
RequiresMountsFor=` + o.dataDir + `
StartLimitIntervalSec=0

[Service]
Type=notify
User=` + user + `
RuntimeDirectory=etcd
EnvironmentFile=` + envPath + `
EnvironmentFile=-/etc/etcd/local.env
` + install + `ExecStartPre=+install -d -o ` + user + ` -g ` + user + ` -m 0700 ` + o.dataDir + `
ExecStart=` + programs + joinName + ` start
TimeoutStartSec=infinity
Restart=always
RestartSec=1
RestartPreventExitStatus=78
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
`
}

// EnvironmentFile returns variables in the format of systemd's EnvironmentFile= and of
// a POSIX shell, one per line and sorted by name. The values have no line breaks.
//
// Within double quotes, systemd removes a backslash before " $ ` and \ and keeps it
// before other characters (env-file.c), like a POSIX shell.
func EnvironmentFile(variables map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		b.WriteString(name + "=" + quote(variables[name]) + "\n")
	}
	return b.String()
}

func quote(value string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=@%+-"
	if strings.Trim(value, plain) == "" {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value) + `"`
}

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
	if u, err := url.Parse(o.release.url); r.is(m["url"]) && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
		r.fail("etcd.url", NotHTTPS, "")
	}
	if r.is(m["sha256"]) && (len(o.release.sha256) != 64 || strings.Trim(o.release.sha256, "0123456789abcdef") != "") {
		r.fail("etcd.sha256", NotSHA256, o.release.sha256)
	}
}

// CheckVersion returns an error if neither the options nor the version of the node,
// "" for none, say which etcd the machine runs, or if that version ignores a variable.
func (o Options) CheckVersion(version string) error {
	switch {
	case o.official && version == "":
		return &OptionError{Path: "etcd", Problem: NoVersion}
	case o.official && !isVersion.MatchString(version):
		return &OptionError{Path: "etcd", Problem: NotVersion, Value: version}
	case !withoutExperimental.MatchString(version):
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		flag, experimental := strings.CutPrefix(name, "ETCD_EXPERIMENTAL_")
		if !experimental {
			continue
		}
		successor := "ETCD_" + flag
		if gate, ok := gates[flag]; ok {
			successor = "ETCD_FEATURE_GATES with " + gate
		}
		return &OptionError{Path: "environment." + name, Problem: RemovedVariable, Allowed: []string{successor}}
	}
	return nil
}

// withoutExperimental matches the versions that have no experimental flags and ignore their
// variables (etcd-io/etcd#19959): 3.7 and later.
var withoutExperimental = regexp.MustCompile(`^(3\.([7-9]|[0-9]{2,})|[4-9])\.`)

// gates are the feature gates that took the place of experimental flags, in 3.6:
// ExperimentalFlagToFeatureMap. The others only lost the word, but for that of the v2 API,
// which has no successor and no effect since 3.6.
var gates = map[string]string{
	"COMPACT_HASH_CHECK_ENABLED": "CompactHashCheck", "ENABLE_LEASE_CHECKPOINT": "LeaseCheckpoint",
	"ENABLE_LEASE_CHECKPOINT_PERSIST": "LeaseCheckpointPersist", "INITIAL_CORRUPT_CHECK": "InitialCorruptCheck",
	"STOP_GRPC_SERVICE_ON_DEFRAG":       "StopGRPCServiceOnDefrag",
	"TXN_MODE_WRITE_WITH_SHARED_BUFFER": "TxnModeWriteWithSharedBuffer",
}

// downloads reports whether the machine downloads etcd.
func (o Options) downloads() bool { return o.release != nil || o.official }
