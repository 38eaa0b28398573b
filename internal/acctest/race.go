// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
)

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
