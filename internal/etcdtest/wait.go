// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// WaitLimit ends a test that hangs, and names what it waited for. It is no limit for
// an expected event: a test has no limit of its own, so that a busy machine slows it
// but does not fail it.
const WaitLimit = 15 * time.Minute

// WaitContext returns a context for calls that wait for an expected event. It ends
// with the test, or after [WaitLimit].
func WaitContext(t TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	t.Cleanup(cancel)
	return ctx
}

// Eventually calls is until it returns nil. It fails the test with the latest
// error if that takes longer than [WaitLimit].
func Eventually(tb TB, what string, is func() error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := poll(ctx, 20*time.Millisecond, func(context.Context) error { return is() }); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, WaitLimit, err)
	}
}

// Until is [Eventually] for a function that returns a bool.
func Until(tb TB, what string, is func() bool) {
	tb.Helper()
	Eventually(tb, what, func() error {
		if !is() {
			return errNotYet
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")

// poll calls try until it returns nil or a finalError, or ctx is done. In the
// last case the result includes the latest error of try.
func poll(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		var final finalError
		if err == nil || errors.As(err, &final) {
			return err
		}
		if (clock.System{}).Sleep(ctx, every) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// finalError is an error that ends a poll.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// TB is a test. Functions that take one can end the calling goroutine, and must therefore
// be called from the goroutine of the test.
type TB = testing.TB

// Skipper is the part of a test that [Need] uses.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need returns the path of a program that the test requires. program is a name on
// PATH or the path of a file that make builds. If it is missing, Need skips the
// test and logs the reason. With CI set, Need fails the test instead, unless
// CI_MISSING (names separated by spaces) lists the program as not installable.
func Need(t Skipper, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" && !slices.Contains(strings.Fields(os.Getenv("CI_MISSING")), program) {
		t.Fatalf("%v: this cannot be tested", err)
	}
	t.Skipf("needs %s: %v", program, err) // tools/count and tools/wanting read this
	return ""
}

// Collected runs the garbage collector after the tests of a package and before
// their goroutines are counted. A provider that was served within a test has
// two goroutines that read from pipes, and go-plugin leaves it to the collector
// to close those pipes.
type Collected struct{ *testing.M }

// Run runs the tests.
func (c Collected) Run() int {
	code := c.M.Run()
	runtime.GC()
	return code
}
