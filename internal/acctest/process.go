// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Process is an operating system process in /proc.
type Process struct {
	PID      int
	exe, Dir string
}

// Processes returns all processes except zombies (Linux only).
func Processes() []Process {
	var out []Process
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended already
		}
		// The command in parentheses can contain any character.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || fields[0] == "Z" {
			continue
		}
		p := Process{PID: pid}
		p.exe, _ = os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		p.Dir, _ = os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		out = append(out, p)
	}
	return out
}

// processesIn describes the processes that work in or below dir (Linux only).
func processesIn(dir string) []string {
	var out []string
	for _, p := range Processes() {
		if p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") {
			out = append(out, fmt.Sprintf("%d %s in %s", p.PID, filepath.Base(p.exe), p.Dir))
		}
	}
	return out
}

// underRace reports whether the tests run under the race detector. The provider that they
// build then uses it too.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// raceReports is the prefix of the race detector's files in a directory.
const raceReports = "race"

// races prints the reports, and reports whether there were any.
func races(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, raceReports+".*"))
	for _, name := range found {
		text, _ := os.ReadFile(name)
		fmt.Fprintf(os.Stderr, "a provider process:\n%s\n", text)
	}
	return len(found) > 0
}
