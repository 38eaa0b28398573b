// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package userdata writes the user data of a machine that runs one member: for
// cloud-init and for Ignition. The result depends on the arguments alone, and
// on a format number that each configuration keeps from its creation, so that
// the user data of a machine that runs never changes by itself.
package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Format is the number of the newest format. A format that was released never
// changes: what differs gets a new number. The golden files hold each one.
const Format = 1

// FormatError is a format that this version does not know: a later version has
// made the configuration.
type FormatError int

// Error implements error.
func (e FormatError) Error() string { return fmt.Sprintf("userdata: unknown format %d", int(e)) }

// Config is what the user data takes of an etcd_member_config. All of it is
// frozen when the configuration is created.
type Config struct {
	Environment          map[string]string // ETCD_* of the member
	JoinScriptBase64Gzip string
	Format               int
}

// Names on the machine.
const (
	user           = "etcd"
	joinName       = "/etcd-join"
	envPath        = "/etc/etcd/etcd.env"
	tlsDir         = "/etc/etcd/tls/"
	unitName       = "etcd.service"
	defaultDataDir = "/var/lib/etcd"
)

// file is a file of the machine.
type file struct {
	path, content string
	mode          string // octal, with a leading zero
	base64Gzip    bool   // content is base64 of gzip
	owned         bool   // by the user etcd, else by root
}

// machine is what runs a member, for cloud-init and Ignition alike.
type machine struct {
	files []file
	unit  string
}

// newMachine returns the files and the unit of a member. programs is the
// directory for what the user data brings.
func newMachine(c Config, o Options, programs string) (machine, error) {
	if c.Format < 1 || c.Format > Format {
		return machine{}, FormatError(c.Format)
	}
	if o.bin == "" {
		o.bin = programs
	}
	variables := maps.Clone(c.Environment)
	if variables == nil {
		variables = map[string]string{}
	}
	variables["ETCD_DATA_DIR"], variables["ETCD_JOIN_BIN"] = o.dataDir, o.bin
	if o.release != nil {
		variables["ETCD_JOIN_RELEASE_URL"], variables["ETCD_JOIN_RELEASE_SHA256"] = o.release.url, o.release.sha256
	}
	if listen := variables["ETCD_LISTEN_PEER_URLS"]; o.peerTLS == nil && (listen == "" || strings.Contains(listen, "https://")) {
		o.peerTLS = o.tls
	}
	files := append([]file{{path: programs + joinName, content: c.JoinScriptBase64Gzip, mode: "0755", base64Gzip: true}}, o.certificates(variables)...)
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		if _, taken := variables[name]; taken || reserved(name) {
			return machine{}, &OptionError{Path: "environment." + name, Problem: ReservedVariable}
		}
		variables[name] = o.Environment[name]
	}
	if err := schemes(variables); err != nil {
		return machine{}, err
	}
	files = append(files, file{path: envPath, content: EnvironmentFile(variables), mode: "0600"})
	return machine{files: files, unit: unit(o, programs)}, nil
}

// certificates returns the files of the certificates that are given as text,
// and adds the variables of all.
func (o Options) certificates(variables map[string]string) []file {
	var files []file
	for _, part := range []struct {
		tls    *certificates
		prefix string
	}{{o.tls, "ETCD_"}, {o.peerTLS, "ETCD_PEER_"}} {
		if part.tls == nil {
			continue
		}
		for _, f := range part.tls.files() {
			if f.inline && !slices.ContainsFunc(files, func(o file) bool { return o.path == f.path }) {
				files = append(files, file{path: f.path, content: f.content, mode: f.mode, owned: true})
			}
			variables[part.prefix+f.variable] = f.path
		}
		variables[part.prefix+"CLIENT_CERT_AUTH"] = "true"
	}
	return files
}

// schemes returns an error if the URLs at which the process listens do not go
// with its certificates: etcd would not start, or would take no notice of them.
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

// reserved reports whether a variable is the configuration's to set: how the
// member starts is decided there and by the join script.
func reserved(name string) bool {
	for _, prefix := range []string{"ETCD_INITIAL_", "ETCD_DISCOVERY", "ETCD_JOIN_", "ETCD_FORCE_NEW_CLUSTER", "ETCD_CONFIG_FILE"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"ETCD_NAME", "ETCD_WAL_DIR", "ETCD_ADVERTISE_CLIENT_URLS"}, name)
}

// unit is the service of the member, for format 1. One process runs all the
// way, because systemd heeds RestartPreventExitStatus for the main process
// only.
func unit(o Options, programs string) string {
	install := "ExecStartPre=+" + programs + joinName + " install\n"
	if o.release == nil {
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

// EnvironmentFile writes variables, one a line and sorted by name, as systemd's
// EnvironmentFile= and a POSIX shell read them. The values have no line breaks.
//
// Within double quotes systemd takes away a backslash before " $ ` and \ and
// keeps it before anything else (env-file.c), as a POSIX shell does.
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
