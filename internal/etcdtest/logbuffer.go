// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// logLimit is the limit of a [logBuffer] in bytes. A runaway process wrote 2.6 MB/s.
const logLimit = 4 << 20

// logBuffer keeps the data written to it. At its limit it leaves out the middle, and
// keeps a quarter of the limit from the beginning and from the end.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer. It never fails.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	if len(b.text) > logLimit {
		const kept = logLimit / 4
		b.text = slices.Concat(b.text[:kept], []byte("\n--- etcdtest: left out ---\n"), b.text[len(b.text)-kept:])
	}
	return len(p), nil
}

// notef adds a line of this package to the log.
func (b *logBuffer) notef(format string, args ...any) {
	fmt.Fprintf(b, "--- etcdtest: "+format+"\n", args...)
}

// String returns the kept data.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// lastLines returns the last n lines.
func (b *logBuffer) lastLines(n int) string {
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
