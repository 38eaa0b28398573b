// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package userdata writes the user data of a machine that runs one member: for
// cloud-init and for Ignition. The result depends on the arguments alone, and
// on a format number that each configuration keeps from its creation, so that
// the user data of a machine that runs never changes by itself.
package userdata

import (
	"maps"
	"slices"
	"strings"
)

// Format is the number of the newest format. A format that was released never
// changes: what differs gets a new number. The golden files hold each one.
const Format = 1

// Config is what the user data takes of an etcd_member_config. All of it is
// frozen when the configuration is created.
type Config struct {
	Environment          map[string]string // ETCD_* of the member
	JoinScriptBase64Gzip string
	Format               int
}

// Paths on the machine.
const (
	user       = "etcd"
	joinPath   = "/usr/local/bin/etcd-join"
	envPath    = "/etc/etcd/etcd.env"
	tlsDir     = "/etc/etcd/tls/"
	unitName   = "etcd.service"
	defaultBin = "/usr/local/bin"
	// DefaultDataDir is the data directory if the options name none.
	DefaultDataDir = "/var/lib/etcd"
)

// file is a file of the machine.
type file struct {
	path, content string
	mode          string // octal, with a leading zero
	base64Gzip    bool   // content is base64 of gzip
	owned         bool   // by the user etcd, else by root
}

// files returns the files of the member, and the variables of its service.
func files(c Config, o Options) ([]file, error) {
	variables := maps.Clone(c.Environment)
	if variables == nil {
		variables = map[string]string{}
	}
	fixed := map[string]string{"ETCD_DATA_DIR": o.DataDir, "ETCD_JOIN_BIN": o.Bin}
	if o.Release != nil {
		fixed["ETCD_JOIN_RELEASE_URL"], fixed["ETCD_JOIN_RELEASE_SHA256"] = o.Release.URL, o.Release.SHA256
	}
	all := []file{{path: joinPath, content: c.JoinScriptBase64Gzip, mode: "0755", base64Gzip: true}}
	for _, part := range []struct {
		tls            *TLS
		prefix, option string
	}{{o.TLS, "ETCD_", "tls"}, {o.PeerTLS, "ETCD_PEER_", "peer_tls"}} {
		if part.tls == nil {
			continue
		}
		for _, f := range part.tls.files() {
			if f.inline && !slices.ContainsFunc(all, func(o file) bool { return o.path == f.path }) {
				all = append(all, file{path: f.path, content: f.content, mode: f.mode, owned: true})
			}
			fixed[part.prefix+f.variable] = f.path
		}
		fixed[part.prefix+"CLIENT_CERT_AUTH"] = "true"
	}
	maps.Copy(variables, fixed)
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		if _, taken := variables[name]; taken || reserved(name) {
			return nil, &OptionError{Path: "environment." + name, Problem: ReservedVariable}
		}
		variables[name] = o.Environment[name]
	}
	return append(all, file{path: envPath, content: EnvironmentFile(variables), mode: "0600"}), nil
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
func unit(o Options) string {
	pre := "ExecStartPre=+" + joinPath + " install\n"
	if o.Release == nil {
		pre = ""
	}
	return `[Unit]
Description=etcd
Documentation=https://etcd.io/docs/
Wants=network-online.target
After=network-online.target
RequiresMountsFor=` + o.DataDir + `
StartLimitIntervalSec=0

[Service]
Type=notify
User=` + user + `
RuntimeDirectory=etcd
EnvironmentFile=` + envPath + `
` + pre + `ExecStartPre=+install -d -o etcd -g etcd -m 0700 ` + o.DataDir + `
ExecStart=` + joinPath + ` start
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
