// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checks are the phrases of what is to be seen.
var checks map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	checks = map[string]func(s *script, rest string){
		"let": func(s *script, rest string) {
			name, what, _ := strings.Cut(rest, " ")
			s.vars[name] = s.noted(what)
		},
		"same": func(s *script, rest string) {
			words := strings.Fields(rest)
			s.expect(rest, words[0], words[len(words)-1])
		},
		"differ": func(s *script, rest string) {
			if words := strings.Fields(rest); words[0] == words[1] {
				s.Errorf("both are %s", words[0])
			}
		},
		"mark": func(s *script, _ string) { s.was, s.of = s.ids(), s.cluster },
		"look": func(s *script, _ string) { s.cluster = s.of }, // back, at the cluster of that time
		"fresh": func(s *script, names string) {
			s.expect("new members", s.fresh(s.was), "["+names+"]")
		},
		"watch":     func(s *script, _ string) { s.calm = s.watch("what was watched") },
		"unchanged": func(s *script, _ string) { s.calm() },
		"members":   func(s *script, want string) { s.expect("members", s.list(), want) },
		"made":      func(s *script, want string) { s.expect("machines", s.fleet.made, "map["+want+"]") },
		"does":      func(s *script, want string) { s.expect("the plan", strings.Join(s.actions, ", "), want) },
		"says":      func(s *script, words string) { s.says("the command", s.said, words) },
		"soon": func(s *script, line string) {
			if s.play(line); s.took > time.Minute {
				s.Errorf("%s took %v", line, s.took)
			}
		},
		"silent": func(s *script, words string) {
			if strings.Contains(fmt.Sprint(s.said.Diagnostics), words) {
				s.Errorf("it says %s: %v", words, s.said)
			}
		},
		"failed": func(s *script, _ string) {
			if s.said.Err() == nil {
				s.Errorf("it did not fail: %v", s.said)
			}
		},
		"includes": func(s *script, action string) {
			if !slices.Contains(s.actions, action) {
				s.Errorf("the plan is %v", s.actions)
			}
		},
		"lacks": each(func(s *script, at string) {
			if s.ws.State(at) != nil {
				s.Errorf("%s is in the state", at)
			}
		}),
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
				if strings.Contains(key, end) {
					s.Errorf("%s is left", key)
				}
			}
		},
		"strangers": func(s *script, n string) { // nothing was done to them
			s.expect("the stranger's members", len(s.network.Cluster(s.strangers(s.other)).Members()), n)
		},
		"at": func(s *script, rest string) { // the peer URL that is listed
			name, url, _ := strings.Cut(rest, " ")
			s.expect("where "+name+" is", s.listed(name), url)
		},
		"records": func(s *script, n string) { s.expect("records", s.records(), n) },
		"led": func(s *script, _ string) {
			if s.cluster.Leader() == nil {
				s.Error("the quorum is lost")
			}
		},
		"once": func(s *script, words string) {
			s.expect(words, strings.Count(fmt.Sprint(s.said.Diagnostics), words), 1)
		},
		"decides": func(s *script, rest string) { // what a machine has decided; nothing while its member runs
			name, want, _ := strings.Cut(rest, " ")
			s.expect(name, s.fleet.of(name).state, want)
		},
		"in-state": func(s *script, want string) { s.expect("the state", s.ws.Addresses(), "["+want+"]") },
		"query": func(s *script, rest string) {
			typ, n, _ := strings.Cut(rest, " ")
			c := s.call("query "+typ, s.provider(s.names))
			defer c.run.Close()
			got := c.list(typ, 0, true)
			for _, r := range got {
				if len(r.Diagnostics) > 0 || r.Identity == nil || r.Resource == nil {
					s.Errorf("%s: %+v", typ, r)
				}
			}
			s.expect(typ, len(got), n)
		},
	}
}
