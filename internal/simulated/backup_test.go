// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// TestBackupStays shows what replaces a backup, and what does not.
func TestBackupStays(t *testing.T) { tell(t, "backups.txt") }

// filePhrases are the phrases about files, which are of the directory $dir.
var filePhrases map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	filePhrases = map[string]func(s *script, rest string){
		"file": func(s *script, rest string) {
			at, text, _ := strings.Cut(rest, " ")
			s.must(os.WriteFile(at, []byte(text), 0o600))
		},
		"unlink": func(s *script, at string) { s.must(os.Remove(at)) },
		"flip": func(s *script, at string) { // a bit; neither its size nor its time changes
			text, err := os.ReadFile(at)
			s.must(err)
			was, err := os.Stat(at)
			s.must(err)
			text[len(text)/2] ^= 1
			s.must(os.WriteFile(at, text, 0o600), os.Chtimes(at, was.ModTime(), was.ModTime()))
		},
		"files": func(s *script, want string) {
			all, err := filepath.Glob(s.vars["dir"] + "/*")
			for i := range all {
				all[i] = filepath.Base(all[i])
			}
			s.must(err)
			s.expect("files", strings.Join(all, " "), want)
		},
		"saved": func(s *script, names string) { // the file of the state is a snapshot of one of these
			v := s.ws.State("etcd_snapshot.this").Value
			s.expect("the hash of the file", driver.Attribute(v, "sha256"), hashOf(driver.Attribute(v, "path")))
			if got := driver.Attribute(v, "member_name"); !slices.Contains(strings.Fields(names), got) {
				s.Errorf("it is of %q, want one of %s", got, names)
			}
		},
		"followers": func(s *script, names string) { // of these, as $followers
			s.vars["followers"] = strings.ReplaceAll(names, s.cluster.Leader().Name, "")
		},
		"lifecycle": func(s *script, at string) { s.resource(at).CreateBeforeDestroy = true },
	}
}

// hashOf is the hash of a file, "none" without one.
func hashOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
