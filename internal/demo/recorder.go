// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"fmt"
	"time"
)

// recorder records complete lines, each with the second at which it was
// completed.
type recorder struct {
	begun   time.Time
	lines   bytes.Buffer
	partial []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.partial = append(r.partial, p...)
	for {
		line, rest, complete := bytes.Cut(r.partial, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		stamped := fmt.Appendf(nil, "%6.1f  %s", time.Since(r.begun).Seconds(), line)
		r.lines.Write(append(bytes.TrimRight(stamped, " "), '\n'))
		r.partial = rest
	}
}
