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

// watchRaces makes the race detector of processes that are started later write
// to dir (the CLI passes its environment to the provider). The standard error
// of a provider would be lost in the log of its CLI.
func watchRaces(dir string) error {
	return os.Setenv("GORACE", "log_path="+filepath.Join(dir, raceReports))
}

// races prints the reports, and reports whether there were any.
func races(dir string) bool {
	found, err := filepath.Glob(filepath.Join(dir, raceReports+".*"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "acctest:", err)
		return true
	}
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(os.Stderr, "a provider process:\n%s\n", text)
	}
	return len(found) > 0
}
