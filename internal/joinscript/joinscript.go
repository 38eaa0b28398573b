// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package joinscript holds the POSIX shell script that decides, on the machine
// and directly before etcd starts, how etcd may start there: as the member it
// already is, as a founder, as a member that has just been announced, not yet,
// or never.
//
// The script (join.sh) is the same for every member, which it learns from its
// environment. It needs sh, awk, sed, od, base64, date and curl, and runs under
// dash, bash and busybox alike.
package joinscript

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"io"
	"strings"
)

// WindowVariable is the environment variable that gives the first initial member
// of a static cluster the time in which it may form the cluster: "FROM-UNTIL", in
// seconds since 1970. No other member has it.
const WindowVariable = "ETCD_JOIN_BOOTSTRAP_WINDOW"

//go:embed join.sh
var source string

// Script is the script that the machines run: join.sh without comments, blank
// lines and indentation, because the size of user data is limited. No string of
// the script begins a line.
var Script = strip(source)

// Base64Gzip is [Script] as the state and user data have it: one line, so that
// a plan stays readable.
var Base64Gzip = Encode(Script)

// Encode returns the base64 of the gzip of a script. One build always gives the
// same text for the same script: there is no time stamp in it.
func Encode(script string) string {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	_, _ = io.WriteString(w, script)                        // a buffer takes everything
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
