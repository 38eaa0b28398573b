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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
)

// checks are the phrases of what is to be seen.
var checks map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	checks = map[string]func(s *script, rest string){
		"let": pair(func(s *script, name, what string) { s.vars[name] = s.noted(what) }),
		"same": func(s *script, rest string) {
			words := strings.Fields(rest)
			s.expect(rest, words[0], words[len(words)-1])
		},
		"differ": func(s *script, rest string) {
			words := strings.Fields(rest)
			s.check(words[0] != words[1], "both are %s", words[0])
		},
		"mark":      func(s *script, _ string) { s.was, s.of = s.ids(), s.cluster },
		"look":      func(s *script, _ string) { s.cluster = s.of }, // back, at the cluster of that time
		"fresh":     func(s *script, names string) { s.expect("new members", s.fresh(s.was), "["+names+"]") },
		"watch":     func(s *script, _ string) { s.calm = s.watch("what was watched") },
		"unchanged": func(s *script, _ string) { s.calm() },
		"members":   func(s *script, want string) { s.expect("members", s.list(), want) },
		"made":      func(s *script, want string) { s.expect("machines", s.fleet.made, "map["+want+"]") },
		"does":      func(s *script, want string) { s.expect("the plan", strings.Join(s.actions, ", "), want) },
		"says":      func(s *script, words string) { s.says("the command", s.said, words) },
		"soon":      func(s *script, line string) { s.play(line); s.play("within 1m") },
		"silent": func(s *script, words string) {
			s.check(!strings.Contains(fmt.Sprint(s.said.Diagnostics), words), "it says %s: %v", words, s.said)
		},
		"failed": func(s *script, _ string) { s.check(s.said.Err() != nil, "it did not fail: %v", s.said) },
		"includes": func(s *script, action string) {
			s.check(slices.Contains(s.actions, action), "the plan is %v", s.actions)
		},
		"lacks": each(func(s *script, at string) { s.check(s.ws.State(at) == nil, "%s is in the state", at) }),
		"restoring": func(s *script, want string) { // how many nodes restore the snapshot
			s.expect("restoring nodes", strings.Count(s.ws.State(thisCluster).Value.String(), `"ETCD_JOIN_RESTORE":`), want)
		},
		"empty":    func(s *script, _ string) { s.empty("the next plan") },
		"restored": func(s *script, lost string) { s.restored(lost) },
		"keeps": each(func(s *script, at string) {
			s.expect(at, s.planned.Change(at).Action, "no-op")
		}),
		"no-key": func(s *script, end string) {
			for _, key := range s.keys() {
				s.check(!strings.Contains(key, end), "%s is left", key)
			}
		},
		"strangers": func(s *script, n string) { // nothing was done to them
			s.expect("the stranger's members", len(s.network.Cluster(s.clusterAt(s.other)).Members()), n)
		},
		"at":      pair(func(s *script, name, url string) { s.expect("where "+name+" is", s.listed(name), url) }), // the peer URL that is listed
		"records": func(s *script, n string) { s.expect("records", s.records(), n) },
		"led":     func(s *script, _ string) { s.check(s.cluster.Leader() != nil, "the quorum is lost") },
		"once": func(s *script, words string) {
			s.expect(words, strings.Count(fmt.Sprint(s.said.Diagnostics), words), 1)
		},
		"decides": pair(func(s *script, name, want string) { // what a machine has decided; nothing while its member runs
			s.expect(name, s.fleet.of(name).state, want)
		}),
		"in-state": func(s *script, want string) { s.expect("the state", s.ws.Addresses(), "["+want+"]") },
		"query": pair(func(s *script, typ, n string) {
			c := s.call("query "+typ, s.provider(s.names))
			defer c.run.Close()
			got := c.list(typ, 0, true)
			for _, r := range got {
				s.check(len(r.Diagnostics) == 0 && r.Identity != nil && r.Resource != nil, "%s: %+v", typ, r)
			}
			s.expect(typ, len(got), n)
		}),
	}
}

// TestBackupStays shows what replaces a backup, and what does not.
func TestBackupStays(t *testing.T) { tell(t, "backups.txt") }

// filePhrases are the phrases about files, which are of the directory $dir.
var filePhrases map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	filePhrases = map[string]func(s *script, rest string){
		"file":   pair(func(s *script, at, text string) { s.must(os.WriteFile(at, []byte(text), 0o600)) }),
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
			name := driver.Attribute(v, "member_name")
			s.check(slices.Contains(strings.Fields(names), name), "it is of %q, want one of %s", name, names)
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
