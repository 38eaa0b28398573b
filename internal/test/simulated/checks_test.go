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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// expectSteps are the steps of what is to be seen.
var expectSteps map[string]step

func init() { // steps run steps
	expectSteps = map[string]step{
		"let": {
			"NAME WHAT",
			"$NAME stands for what is seen now: cluster, listed NAME, runs, member NAME, statement, state ADDRESS, " +
				"file PATH, stranger, token, seen PATH, attribute ADDRESS PATH",
			pair(func(s *runner, name, what string) { s.vars[name] = s.noted(what) }),
		},
		"same": {
			"A B", "both are the same",
			func(s *runner, rest string) {
				words := strings.Fields(rest)
				s.expect(rest, words[0], words[len(words)-1])
			},
		},
		"differ": {
			"A B", "they differ",
			func(s *runner, rest string) {
				words := strings.Fields(rest)
				s.check(words[0] != words[1], "both are %s", words[0])
			},
		},
		"mark": {
			"", "the members of now are noted",
			func(s *runner, _ string) { s.was, s.of = s.ids(), s.cluster },
		},
		"look-back": {
			"", "what follows is about the cluster of the last mark",
			func(s *runner, _ string) { s.cluster = s.of },
		},
		"fresh": {
			"[NAMES]", "the members of these names, and no others, are new since the mark",
			func(s *runner, names string) { s.expect("new members", s.fresh(s.was), "["+names+"]") },
		},
		"watch": {
			"", "from now on nothing may change members",
			func(s *runner, _ string) { s.calm = s.watch("what was watched") },
		},
		"unchanged": {
			"", "nothing did since \"watch\"",
			func(s *runner, _ string) { s.calm() },
		},
		"members": {
			"NAMES",
			"the members, with learners in brackets, and with + at those that the last command has made",
			func(s *runner, want string) {
				got := s.list()
				if strings.Contains(want, "+") {
					got = scenario.Members(s.before, s.cluster.Members())
				}
				s.expect("members", got, want)
			},
		},
		"made": {
			"NAME:N ...", "how many machines of each name Terraform has made",
			func(s *runner, want string) { s.expect("machines", s.fleet.made, "map["+want+"]") },
		},
		"does": {
			"ACTIONS", "what the last plan does",
			func(s *runner, want string) { s.expect("the plan", strings.Join(s.actions, ", "), want) },
		},
		"says": {
			"WORDS", "the last command said this",
			func(s *runner, words string) { s.says("the command", s.said, words) },
		},
		"soon": {
			"COMMAND", "the command takes at most one minute",
			func(s *runner, line string) { s.run(line); s.run("within 1m") },
		},
		"says-not": {
			"WORDS", "the last command did not say this",
			func(s *runner, words string) {
				s.check(!strings.Contains(fmt.Sprint(s.said.Diagnostics), words), "it says %s: %v", words, s.said)
			},
		},
		"failed": {
			"", "the last command failed",
			func(s *runner, _ string) { s.check(s.said.Err() != nil, "it did not fail: %v", s.said) },
		},
		"includes": {
			"ACTION", "the last plan has this action",
			func(s *runner, action string) {
				s.check(slices.Contains(s.actions, action), "the plan is %v", s.actions)
			},
		},
		"lacks": {
			"ADDRESSES", "the state does not have these",
			each(func(s *runner, at string) { s.check(s.ws.State(at) == nil, "%s is in the state", at) }),
		},
		"restoring": {
			"N", "how many nodes restore the snapshot",
			func(s *runner, want string) {
				s.expect("restoring nodes",
					strings.Count(s.ws.State(thisCluster).Value.String(), `"ETCD_JOIN_RESTORE":`), want)
			},
		},
		"empty": {
			"", "another plan changes nothing",
			func(s *runner, _ string) { s.empty("the next plan") },
		},
		"restored": {
			"CLUSTER", "the cluster in the state is another one, serves with a, b and c, and the plan is empty",
			func(s *runner, lost string) { s.restored(lost) },
		},
		"keeps": {
			"ADDRESSES", "the last plan does not change these",
			each(func(s *runner, at string) {
				s.expect(at, s.planned.Change(at).Action, "no-op")
			}),
		},
		"no-key": {
			"END", "no key of the cluster ends with this",
			func(s *runner, end string) {
				for _, key := range s.keys() {
					s.check(!strings.Contains(key, end), "%s is left", key)
				}
			},
		},
		"other-cluster-members": {
			"N", "how many members the other cluster has",
			func(s *runner, n string) {
				s.expect("the stranger's members", len(s.network.Cluster(s.clusterAt(s.other)).Members()), n)
			},
		},
		"listed": {
			"NAME URL", "the peer URL in the member list",
			pair(func(s *runner, name, url string) { s.expect("where "+name+" is", s.listed(name), url) }),
		},
		"records": {
			"N", "how many changes of peer URLs are on record",
			func(s *runner, n string) { s.expect("records", s.records(), n) },
		},
		"has-leader": {
			"", "the cluster has a leader",
			func(s *runner, _ string) { s.check(s.cluster.Leader() != nil, "the quorum is lost") },
		},
		"says-once": {
			"WORDS", "the last command said this once",
			func(s *runner, words string) {
				s.expect(words, strings.Count(fmt.Sprint(s.said.Diagnostics), words), 1)
			},
		},
		"decides": {
			"NAME [DECISION]", "what the join script of the machine has decided; nothing while its member runs",
			pair(func(s *runner, name, want string) {
				s.expect(name, s.fleet.of(name).state, want)
			}),
		},
		"in-state": {
			"[ADDRESSES]", "the addresses in the state",
			func(s *runner, want string) { s.expect("the state", s.ws.Addresses(), "["+want+"]") },
		},
		"query": {
			"TYPE N", "terraform query finds that many",
			pair(func(s *runner, typ, n string) {
				c := s.call("query "+typ, s.provider(s.names))
				defer c.run.Close()
				got := c.list(typ, 0, true)
				for _, r := range got {
					s.check(len(r.Diagnostics) == 0 && r.Identity != nil && r.Resource != nil, "%s: %+v", typ, r)
				}
				s.expect(typ, len(got), n)
			}),
		},
	}
}

// TestBackupStays shows what replaces a backup, and what does not.
func TestBackupStays(t *testing.T) { runFile(t, "backups.txt") }

// fileSteps are the steps about files, which are of the directory $dir.
var fileSteps map[string]step

func init() { // steps run steps
	fileSteps = map[string]step{
		"file": {
			"PATH TEXT", "a file with this text",
			pair(func(s *runner, at, text string) { s.must(os.WriteFile(at, []byte(text), 0o600)) }),
		},
		"unlink": {
			"PATH", "the file is deleted",
			func(s *runner, at string) { s.must(os.Remove(at)) },
		},
		"flip": {
			"PATH", "a bit of the file changes, its size and time do not",
			func(s *runner, at string) {
				text, err := os.ReadFile(at)
				s.must(err)
				was, err := os.Stat(at)
				s.must(err)
				text[len(text)/2] ^= 1
				s.must(os.WriteFile(at, text, 0o600), os.Chtimes(at, was.ModTime(), was.ModTime()))
			},
		},
		"files": {
			"NAMES", "the files in $dir",
			func(s *runner, want string) {
				all, err := filepath.Glob(s.vars["dir"] + "/*")
				for i := range all {
					all[i] = filepath.Base(all[i])
				}
				s.must(err)
				s.expect("files", strings.Join(all, " "), want)
			},
		},
		"snapshot-of": {
			"NAMES", "the file in the state is a snapshot of one of these members",
			func(s *runner, names string) {
				v := s.ws.State("etcd_snapshot.this").Value
				s.expect("the hash of the file", driver.Attribute(v, "sha256"), hashOf(driver.Attribute(v, "path")))
				name := driver.Attribute(v, "member_name")
				s.check(slices.Contains(strings.Fields(names), name), "it is of %q, want one of %s", name, names)
			},
		},
		"followers": {
			"NAMES", "$followers are those of the names that do not lead",
			func(s *runner, names string) {
				s.vars["followers"] = strings.ReplaceAll(names, s.cluster.Leader().Name, "")
			},
		},
		"lifecycle": {
			"ADDRESS", "create_before_destroy of a resource",
			func(s *runner, at string) { s.resource(at).CreateBeforeDestroy = true },
		},
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
