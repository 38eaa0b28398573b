// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// logHead and logTail are the limits of a [logBuffer] in bytes. Both the
// beginning and the end of a log are kept. A runaway process wrote 2.6 MB/s.
const (
	logHead = 256 << 10
	logTail = 1 << 20
)

// logBuffer keeps the beginning and the end of the data written to it.
type logBuffer struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // at most 2*logTail long, so that it is rarely cut
	dropped int64
}

// Write implements io.Writer. It never fails.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(p)
	if room := logHead - len(b.head); room > 0 {
		take := min(room, len(p))
		b.head = append(b.head, p[:take]...)
		p = p[take:]
	}
	b.tail = append(b.tail, p...)
	if len(b.tail) > 2*logTail {
		cut := len(b.tail) - logTail
		b.dropped += int64(cut)
		b.tail = append(b.tail[:0], b.tail[cut:]...)
	}
	return n, nil
}

// notef adds a line of this package to the log.
func (b *logBuffer) notef(format string, args ...any) {
	fmt.Fprintf(b, "--- etcdtest: "+format+"\n", args...)
}

// String returns the kept data.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s strings.Builder
	s.Write(b.head)
	if b.dropped > 0 {
		fmt.Fprintf(&s, "\n--- etcdtest: %d bytes left out ---\n", b.dropped)
	}
	s.Write(b.tail)
	return s.String()
}

// contains reports whether text occurs in the kept data.
func (b *logBuffer) contains(text string) bool { return strings.Contains(b.String(), text) }

// lastLines returns the last n lines.
func (b *logBuffer) lastLines(n int) string {
	all := bytes.TrimRight([]byte(b.String()), "\n")
	at := len(all)
	for range n {
		at = bytes.LastIndexByte(all[:at], '\n')
		if at < 0 {
			return string(all)
		}
	}
	return string(all[at+1:])
}
