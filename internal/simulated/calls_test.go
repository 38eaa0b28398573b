// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// calls are the phrases of what package driver leaves out, and of values.
var calls map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	calls = map[string]func(s *script, rest string){
		"login": func(s *script, block string) { s.ws.Provider = s.block(block) }, // a provider block
		"validate": func(s *script, rest string) {
			_, want := divided(rest + " ")
			s.actions = nil
			s.comes(s.ws.Validate(s.Context(), s.start("validate")), want)
		},
		"read": func(s *script, rest string) { // a data source
			call, want := divided(rest)
			typ, block, _ := strings.Cut(call, " ")
			v, r := s.read(s.ws.Provider, typ, s.block(block))
			s.seen, s.actions = v, nil
			s.comes(r, want)
		},
		"state": func(s *script, at string) { s.seen = s.ws.State(address(at)).Value },
		"is": func(s *script, rest string) {
			path, want, _ := strings.Cut(rest, " ")
			s.expect(path, plain.ReplaceAllString(driver.Attribute(s.seen, strings.Split(path, ".")...), "$1"), want)
		},
		"matches": func(s *script, rest string) {
			path, pattern, _ := strings.Cut(rest, " ")
			if got := driver.Attribute(s.seen, strings.Split(path, ".")...); !regexp.MustCompile(pattern).MatchString(got) {
				s.Errorf("%s is %s, want %s", path, got, pattern)
			}
		},
		"misses": func(s *script, rest string) {
			path, words, _ := strings.Cut(rest, " ")
			if got := driver.Attribute(s.seen, strings.Split(path, ".")...); strings.Contains(got, words) {
				s.Errorf("%s is %s", path, got)
			}
		},
		"note": func(s *script, rest string) { // what stands for $NAME
			name, value, _ := strings.Cut(rest, " ")
			s.vars[name] = value
		},
		"tells": func(s *script, pattern string) { // the last command
			if got := fmt.Sprint(s.said.Diagnostics); !regexp.MustCompile(pattern).MatchString(got) {
				s.Errorf("it says %s, want %s", got, pattern)
			}
		},
		// Processes, and connections of a run, or of all.
		"freeze": each(func(s *script, name string) { s.members[name].Freeze() }),
		"thaw":   each(func(s *script, name string) { s.members[name].Thaw() }),
		"cut": func(s *script, run string) {
			for _, p := range s.cluster.Processes() {
				s.network.Cut(run, p.ClientURL)
			}
		},
		"heal": func(s *script, run string) {
			for _, p := range s.cluster.Processes() {
				s.network.Heal(run, p.ClientURL)
			}
		},
		"kill": func(s *script, killed string) {
			s.each = func(run string) error { return map[bool]error{true: errKilled}[run == killed] }
		},
		// Requests of all runs.
		"since":    func(s *script, _ string) { s.counted = s.calls },
		"requests": func(s *script, n string) { s.expect("requests", s.calls-s.counted, n) },
	}
}

// plain matches a value that is not a text.
var plain = regexp.MustCompile(`^tftypes\.(?:Bool|Number)<"([^"]*)">$`)

// block are the arguments of a block.
func (s *script) block(text string) driver.Values {
	s.Helper()
	v, ok := s.value(text).(driver.Values)
	if !ok {
		s.Fatalf("%s is no block", text)
	}
	return v
}

func (s *script) number(text string) int64 {
	s.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}
