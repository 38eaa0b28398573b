// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package joinscript holds the POSIX shell script that runs on the machine
// directly before etcd. It decides how etcd may start: as an existing member,
// as an initial member, as a member that was just added, not yet, or never.
//
// The environment tells the script which member it is for. It needs sh,
// awk, sed, od, base64, date and curl, with a v3 discovery also sha1sum, and
// runs under dash, bash and busybox.
package joinscript

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"io"
	"strings"
	"sync"
)

// WindowVariable is the environment variable that gives the first initial
// member of a static cluster the period in which it may form the cluster:
// "FROM-UNTIL", in seconds since 1970. Other members do not have it.
const WindowVariable = "ETCD_JOIN_BOOTSTRAP_WINDOW"

// The variables that make an initial member start from a snapshot. Other
// members do not have them.
const (
	// RestoreVariable is the URL of the snapshot, or its absolute path on the machine.
	RestoreVariable = "ETCD_JOIN_RESTORE"
	// RestoreSHA256Variable is the SHA-256 of the file, in lower case.
	RestoreSHA256Variable = "ETCD_JOIN_RESTORE_SHA256"
	// RestoreBumpVariable is the increase of the revision. All revisions of the
	// snapshot then count as compacted.
	RestoreBumpVariable = "ETCD_JOIN_RESTORE_BUMP"
)

// files are the files of the script. They define functions, and main.sh runs.
//
//go:embed *.sh rules/judge.sh
var files embed.FS

// Variant is the script with only the files that one kind of configuration
// needs, because the size of user data is limited.
type Variant struct {
	// Text is what the machines run: the files without comments, blank lines and
	// indentation. No line of the script begins inside a string.
	Text string
	// Base64Gzip is Text as stored in the state and user data. It is one line,
	// which keeps a plan readable.
	Base64Gzip string
}

// The variants are made on first use, because most calls of the provider need
// none and each costs milliseconds.
var (
	// Discovery is for the members of a cluster with a discovery token.
	Discovery = sync.OnceValue(func() Variant { return variant("discovery.sh", "empty.sh") })
	// Static has no discovery code. It is for a static bootstrap and for the
	// members of an existing cluster.
	Static = sync.OnceValue(func() Variant { return variant("static.sh", "empty.sh") })
	// Restore is [Static] for a static bootstrap that restores a snapshot.
	Restore = sync.OnceValue(func() Variant { return variant("static.sh", "restore.sh") })
)

func variant(registry, snapshot string) Variant {
	text := strip(assemble(registry, snapshot))
	return Variant{Text: text, Base64Gzip: Encode(text)}
}

// assemble returns the script with the files in which variants differ.
func assemble(registry, snapshot string) string {
	var script strings.Builder
	for _, name := range []string{"common.sh", "rules/judge.sh", registry, snapshot, "start.sh", "main.sh"} {
		text, _ := files.ReadFile(name) // it is embedded
		script.Write(text)
	}
	return script.String()
}

// Encode returns the base64 of the gzip of a script. The result of one build is
// deterministic: it contains no time stamp.
func Encode(script string) string {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = io.WriteString(w, script)                        // a buffer accepts everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func strip(source string) string {
	var out strings.Builder
	for i, line := range strings.Split(source, "\n") {
		line = strings.TrimLeft(line, "\t")
		if line != "" && (i == 0 || !strings.HasPrefix(line, "#")) {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
