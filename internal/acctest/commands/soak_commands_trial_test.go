// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// trial is a test within a test whose failure is a finding: it can run
// repeatedly, and its resources end with it.
type trial struct {
	testing.TB

	mu       sync.Mutex
	found    []violation
	failed   bool
	log      []string
	cleanups []func()
}

// violation is a forbidden result of a sequence.
type violation struct {
	// class is the same for violations that probably have the same cause; text
	// has all details.
	class, text string
}

// try runs f as a trial, and returns its violations and its log.
func try(t testing.TB, f func(tr *trial)) (found []violation, log []string) {
	tr := &trial{TB: t}
	tr.alone(func() { f(tr) })
	for {
		tr.mu.Lock()
		n := len(tr.cleanups)
		if n == 0 {
			tr.mu.Unlock()
			return tr.found, tr.log
		}
		last := tr.cleanups[n-1]
		tr.cleanups = tr.cleanups[:n-1]
		tr.mu.Unlock()
		tr.alone(last)
	}
}

// alone calls f in a new goroutine, which a failure ends.
func (tr *trial) alone(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// find records a violation and ends the trial.
func (tr *trial) find(class, format string, args ...any) {
	tr.note(class, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (tr *trial) note(class, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failed = true
	tr.found = append(tr.found, violation{class, text})
}

// variable matches the parts in which two equal failures differ.
var variable = regexp.MustCompile(`[0-9]+(\.[0-9]+)?|/\S+|\[[^\]]*\]`)

// fail records the failure of a helper.
func (tr *trial) fail(text string) {
	first, _, _ := strings.Cut(text, "\n")
	class := variable.ReplaceAllString(first, "#")
	tr.note(class[:min(len(class), 60)], text)
}

// The following methods implement [testing.TB] for the helpers.

func (tr *trial) Helper() {}

func (tr *trial) Failed() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.failed
}

func (tr *trial) Log(args ...any) { tr.Logf("%s", fmt.Sprint(args...)) }

func (tr *trial) Logf(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.log = append(tr.log, fmt.Sprintf(format, args...))
}

func (tr *trial) Error(args ...any)                 { tr.fail(fmt.Sprint(args...)) }
func (tr *trial) Errorf(format string, args ...any) { tr.fail(fmt.Sprintf(format, args...)) }
func (tr *trial) Fail()                             { tr.fail("failed") }

func (tr *trial) FailNow() {
	tr.Fail()
	runtime.Goexit()
}

func (tr *trial) Fatal(args ...any) {
	tr.Error(args...)
	runtime.Goexit()
}

func (tr *trial) Fatalf(format string, args ...any) {
	tr.Errorf(format, args...)
	runtime.Goexit()
}

func (tr *trial) Cleanup(f func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.cleanups = append(tr.cleanups, f)
}

func (tr *trial) TempDir() string {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		tr.Fatal(err)
	}
	tr.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tr.Error(err)
		}
	})
	return dir
}

// A failure ends the trial but not the test, and all cleanups are called, the
// last one first, even if one fails.
func TestCommandTrial(t *testing.T) {
	t.Parallel()
	var order []string
	dir := ""
	found, log := try(t, func(tr *trial) {
		dir = tr.TempDir()
		tr.Cleanup(func() { order = append(order, "first") })
		tr.Cleanup(func() { order = append(order, "second"); tr.Fatal("late") })
		tr.Logf("%d", 1)
		tr.Errorf("not within 5s: /tmp/x of [a b]")
		tr.find("class", "text %d", 2)
		order = append(order, "never")
	})
	if got := strings.Join(order, " "); got != "second first" {
		t.Errorf("called: %s", got)
	}
	want := []violation{{"not within #s: # of #", "not within 5s: /tmp/x of [a b]"}, {"class", "text 2"}, {"late", "late"}}
	if fmt.Sprint(found) != fmt.Sprint(want) || fmt.Sprint(log) != "[1]" {
		t.Errorf("found %v, log %v", found, log)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
}
