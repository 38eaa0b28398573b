// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package lean is what the process of a provider does so that many calls
// cost little: it writes no log that nobody reads, collects garbage less often
// while it is small, and lets go of a call that is over.
package lean

import (
	"os"
	"runtime/debug"
	"strings"
)

// loggers are the variables by which the plugin libraries read the levels of
// their own loggers. Without them each call writes lines at the level trace,
// which a CLI that logs nothing parses and drops: a third of what a refresh of
// many resources costs the processors, on both sides.
var loggers = []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"}

// Quiet leaves the loggers of the plugin libraries at errors, unless any
// variable of the environment says something about logs (TF_LOG and all that
// begin with TF_LOG_): then all stays as it is. Diagnostics are no logs.
func Quiet() error { return quiet(os.Environ(), os.Setenv) }

func quiet(environment []string, set func(name, value string) error) error {
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && (name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_")) {
			return nil
		}
	}
	for _, name := range loggers {
		if err := set(name, "ERROR"); err != nil {
			return err
		}
	}
	return nil
}

const (
	// garbagePercent lets the heap of a provider, whose live part is a few
	// megabytes, grow to some twenty before it is collected: with the usual 100
	// a refresh of many resources spends a fifth of its time on that, and a
	// start collects twice before it has answered anything.
	garbagePercent = 400
	// memoryLimit, in bytes, is from where on memory counts more than time. It
	// is no ceiling: what is needed is taken.
	memoryLimit = 56 << 20
)

// Memory sets how often garbage is collected, as far as the environment
// (GOGC, GOMEMLIMIT) does not.
func Memory() { memory(os.Getenv, debug.SetGCPercent, debug.SetMemoryLimit) }

func memory(getenv func(string) string, percent func(int) int, limit func(int64) int64) {
	if getenv("GOGC") == "" {
		percent(garbagePercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		limit(memoryLimit)
	}
}
