// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out)
	r.begin("A step")
	r.during("apply", func() {})
	if out.String() != "\n1  A step\n" {
		t.Errorf("without a terminal: %q", &out)
	}
	out.Reset()
	r.terminal, r.colour = true, true
	r.begin("Another")
	r.during("apply", func() {})
	want := "\n\x1b[1m2  Another\x1b[0m\n\r   \x1b[2mapply … 0.0 s\x1b[0m\r\x1b[K"
	if out.String() != want {
		t.Errorf("on a terminal: %q, want %q", &out, want)
	}
}

func TestExpect(t *testing.T) {
	a := member{ID: 1, Name: "a", alive: true, leader: true}
	b := member{ID: 2, Name: "b", alive: true}
	c := member{ID: 3, Name: "c", alive: true, Learner: true}
	roles := map[string]string{"a": "voter", "b": "voter", "c": "learner"}
	if err := expect([]member{a, b, c}, roles); err != nil {
		t.Error(err)
	}
	dead, voter, second, stranger := b, c, b, member{ID: 4, alive: true}
	dead.alive, voter.Learner, second.leader = false, false, true
	for want, members := range map[string][]member{
		"b does not answer":                    {a, dead, c},
		"c is a voter and should be a learner": {a, b, voter},
		"there are 2 leaders":                  {a, second, c},
		"there are 0 leaders":                  {b, c},
		"c is not a member":                    {a, b},
		`"" (4) is a member and should not be`: {a, b, c, stranger},
	} {
		err := expect(members, roles)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
