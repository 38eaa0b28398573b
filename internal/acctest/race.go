// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os"
	"path/filepath"
)

// raceReports is how the race detector names its files in a directory.
const raceReports = "race"

// watchRaces makes the race detector of every process that is started from now
// on, the CLI hands its environment to the provider, write into dir: what a
// provider says on its standard error is lost in the log of its CLI.
func watchRaces(dir string) error {
	return os.Setenv("GORACE", "log_path="+filepath.Join(dir, raceReports))
}

// races prints what was written, and reports whether there was anything.
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
