// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// indent precedes all output of a step.
const indent = "   "

// report writes the output for the user.
type report struct {
	out      io.Writer
	terminal bool // lines can be overwritten
	colour   bool
	begun    time.Time
	step     string
	steps    int
}

func newReport(out io.Writer) *report {
	r := &report{out: out, begun: time.Now()}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		r.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
		r.colour = r.terminal && os.Getenv("NO_COLOR") == ""
	}
	return r
}

// These are the colours, as SGR codes.
const (
	bold  = "1"
	faint = "2"
	red   = "1;31"
	green = "32"
)

func (r *report) paint(code, text string) string {
	if !r.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// logf prints the log lines of other packages.
func (r *report) logf(format string, args ...any) {
	fmt.Fprintln(r.out, indent+fmt.Sprintf(format, args...))
}

// title prints the title of the demo.
func (r *report) title(format string, args ...any) {
	fmt.Fprintln(r.out, fmt.Sprintf(format, args...))
}

// begin starts a step.
func (r *report) begin(what string) {
	r.steps++
	r.step = what
	fmt.Fprintf(r.out, "\n%s\n", r.paint(bold, fmt.Sprintf("%d  %s", r.steps, what)))
}

// say prints a line about the step.
func (r *report) say(format string, args ...any) {
	fmt.Fprintln(r.out, indent+fmt.Sprintf(format, args...))
}

// verified prints the result of a check.
func (r *report) verified(format string, args ...any) {
	fmt.Fprintln(r.out, indent+r.paint(green, fmt.Sprintf(format, args...)))
}

// ran prints a command, its result and its duration.
func (r *report) ran(command, said string, took time.Duration) {
	fmt.Fprintf(r.out, "%s%-6s %-40s %s\n", indent, command, said, r.paint(faint, seconds(took)))
}

// during shows what on a terminal until f returns, and returns the duration of f.
func (r *report) during(what string, f func()) time.Duration {
	begun := time.Now()
	if !r.terminal {
		f()
		return time.Since(begun)
	}
	done := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			fmt.Fprintf(r.out, "\r%s%s", indent, r.paint(faint, what+" … "+seconds(time.Since(begun))))
			select {
			case <-done:
				fmt.Fprint(r.out, "\r\x1b[K")
				return
			case <-ticker.C:
			}
		}
	}()
	defer func() { <-gone }()
	defer close(done)
	f()
	return time.Since(begun)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// table prints a head and rows in columns.
func (r *report) table(head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", width[i], cell)
		}
		return indent + strings.TrimRight(b.String(), " ")
	}
	fmt.Fprintln(r.out, r.paint(faint, line(head)))
	for _, row := range rows {
		fmt.Fprintln(r.out, line(row))
	}
}

// failure is the error that ends the demo: a reason, and excerpts of the logs
// of the programs involved.
type failure struct {
	reason string
	logs   []excerpt
}

type excerpt struct{ title, text string }

func (f *failure) Error() string { return f.reason }

func failed(format string, args ...any) error { return &failure{reason: fmt.Sprintf(format, args...)} }

func (r *report) failed(err error) {
	where := "before the first step"
	if r.steps > 0 {
		where = fmt.Sprintf("in step %d, %s", r.steps, r.step)
	}
	fmt.Fprintf(r.out, "\n%s\n", r.paint(red, "Failed "+where))
	fmt.Fprintln(r.out, err)
	var f *failure
	if errors.As(err, &f) {
		for _, log := range f.logs {
			fmt.Fprintf(r.out, "\n%s\n%s\n", r.paint(bold, "--- "+log.title), strings.TrimSpace(log.text))
		}
	}
	fmt.Fprintln(r.out, "\nWhat was started has been ended, and its files are gone.")
}

func (r *report) interrupted() {
	fmt.Fprintln(r.out, "\nInterrupted. What was started has been ended, and its files are gone.")
}

func (r *report) finished() {
	fmt.Fprintf(r.out, "\nAll as it should be, in %s.\n", seconds(time.Since(r.begun)))
}

// tail returns the last n lines of a text, each cut to a readable length.
func tail(text string, n int) string {
	const longest = 220
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		if len(line) > longest {
			lines[i] = line[:longest] + " …"
		}
	}
	return strings.Join(lines, "\n")
}
