// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package joinscript holds the POSIX shell script that decides, on the machine
// and directly before etcd starts, how etcd may start there: as the member it
// already is, as a founder, as a member that has just been announced, not yet,
// or never.
//
// The script (join.sh) learns from its environment which member it is for. It
// needs sh, awk, sed, od, base64, date and curl (with a v3 discovery sha1sum,
// too), and runs under dash, bash and busybox alike.
package joinscript

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"sync"
)

// WindowVariable is the environment variable that gives the first initial member
// of a static cluster the time in which it may form the cluster: "FROM-UNTIL", in
// seconds since 1970. No other member has it.
const WindowVariable = "ETCD_JOIN_BOOTSTRAP_WINDOW"

// The variables with which an initial member starts from a snapshot. No other
// member has them.
const (
	// RestoreVariable is the URL of the snapshot, or its absolute path on the machine.
	RestoreVariable = "ETCD_JOIN_RESTORE"
	// RestoreSHA256Variable is the SHA-256 of the file, in lower case.
	RestoreSHA256Variable = "ETCD_JOIN_RESTORE_SHA256"
	// RestoreBumpVariable is by how much the revision is increased. All revisions of
	// the snapshot count as compacted then.
	RestoreBumpVariable = "ETCD_JOIN_RESTORE_BUMP"
)

//go:embed join.sh
var source string

// Variant is the script with the parts that one kind of configuration needs,
// because the size of user data is limited.
type Variant struct {
	// Text is what the machines run: join.sh without comments, blank lines and
	// indentation. No string of the script begins a line.
	Text string
	// Base64Gzip is Text as the state and user data have it: one line, so that a
	// plan stays readable.
	Base64Gzip string
}

// Most calls of the provider need none, and each costs milliseconds: so both are
// made when they are asked for.
var (
	// Discovery is for the members of a cluster that a discovery forms.
	Discovery = sync.OnceValue(func() Variant { return variant(registryPart) })
	// Static has no code for a registry: for a static bootstrap, and for the
	// members of a cluster that exists.
	Static = sync.OnceValue(func() Variant { return variant() })
	// Restore is [Static] for a static bootstrap that restores a snapshot.
	Restore = sync.OnceValue(func() Variant { return variant(restorePart) })
)

// The marks before the parts of the script that not every variant has.
const (
	registryPart = "# --- registry"
	restorePart  = "# --- restore"
)

// variant returns the script with the parts behind these marks.
func variant(parts ...string) Variant {
	text := strip(part(source, parts...))
	return Variant{Text: text, Base64Gzip: Encode(text)}
}

// Encode returns the base64 of the gzip of a script. One build always gives the
// same text for the same script: there is no time stamp in it.
func Encode(script string) string {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	_, _ = io.WriteString(w, script)                        // a buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// part returns the script with the parts behind these marks, and with what stands
// in place of the others.
func part(source string, parts ...string) string {
	var out strings.Builder
	skip := false
	for line := range strings.Lines(source) {
		switch mark := strings.TrimSpace(line); mark {
		case registryPart, restorePart:
			skip = !slices.Contains(parts, mark)
		case "# --- else":
			skip = !skip
		case "# --- end":
			skip = false
		default:
			if !skip {
				out.WriteString(line)
			}
		}
	}
	return out.String()
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
