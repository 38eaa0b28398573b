// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// one picks an element.
func one[T any](g *game, of ...T) T { return of[g.random.IntN(len(of))] }

// choose chooses the next step. What takes a node away for good happens to a healthy
// cluster only.
func (g *game) choose() (s step) {
	s.pause = one(g, time.Second, 30*time.Second, 3*time.Minute, 20*time.Minute)
	s.edit = g.chooseEdit()
	name := one(g, g.names...)
	of := func(typ string) string { return typ + `.node["` + name + `"]` }
	switch g.random.IntN(14) {
	case 0, 1:
		s.opts = append(s.opts, driver.Replace(of("machine")))
	case 2:
		s.opts = append(s.opts, driver.Replace(of("etcd_member")))
	case 3:
		s.opts = append(s.opts, driver.Replace(of("machine")), driver.Replace(`machine.node["`+g.other(name)+`"]`))
	case 4:
		s.taint = append(s.taint, of("machine"))
	case 5:
		s.taint = append(s.taint, of("etcd_member"), `etcd_member.node["`+g.other(name)+`"]`)
	case 6:
		s.taint = append(s.taint, "etcd_cluster.this")
	case 7:
		s.forget = of("etcd_member")
	case 8, 9:
		// A limit: -target of a node takes all machines along. That of a name that is gone
		// is then destroyed without its member, which nothing can see.
		if !strings.HasPrefix(s.edit, "shrink") && g.complete() {
			s.opts = append(s.opts, driver.Target(one(g, "etcd_cluster.this", of("machine"), of("etcd_member"))))
		}
	}
	if g.random.IntN(5) == 0 {
		s.opts = append(s.opts, driver.NoRefresh)
	}
	s.taint = slices.DeleteFunc(s.taint, func(address string) bool { return g.ws.State(address) == nil })
	s.silence = g.random.IntN(12) == 0
	s.mode = one(g, "", "", "", "", "saved", "two", "two", "clone")
	g.chooseFault(&s)
	return s
}

func (g *game) chooseEdit() string {
	switch g.random.IntN(10) {
	case 0, 1:
		return "image"
	case 2:
		return "back"
	case 3:
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			if !slices.Contains(g.names, name) {
				return "grow " + name
			}
		}
	case 4:
		if len(g.names) > 3 {
			return "shrink " + one(g, g.names...)
		}
	case 5:
		return "rebuild " + one(g, g.names...)
	case 6:
		return one(g, "theirs 1", "theirs 2", "theirs")
	}
	return ""
}

func (g *game) chooseFault(s *step) {
	at := 1 + g.random.IntN(40*(1+g.random.IntN(4)))
	switch g.random.IntN(10) {
	case 0, 1:
		s.kill = at
	case 2:
		s.freeze = at
	case 3:
		s.lose = 1 + g.random.IntN(12)
	case 4, 5, 6:
		s.fail, s.victim, s.back = at, one(g, g.names...), time.Duration(1<<g.random.IntN(12))*time.Second
		s.how = one(g, "off", "off", "freeze", "split", "hide", "other")
	case 7:
		if name := one(g, g.names...); g.healthy() {
			s.outside = one(g, "lose ", "wipe ", "remove ") + name
		}
	case 8:
		s.outside = "no boot"
	}
}

// complete reports whether the state has no name that the configuration does not have.
func (g *game) complete() bool {
	return !slices.ContainsFunc(g.ws.Addresses(), func(address string) bool {
		_, name, instance := strings.Cut(address, `["`)
		return instance && !slices.Contains(g.names, strings.TrimSuffix(name, `"]`))
	})
}

// healthy reports whether all members of the configuration vote and work.
func (g *game) healthy() bool {
	names := append(slices.Clone(g.names), g.theirs...)
	slices.Sort(names)
	return g.list() == strings.Join(names, " ") && len(g.dead()) == 0 && !slices.ContainsFunc(names, func(n string) bool { return !g.works(n) })
}

// TestSearch plays games from seeds.
func TestSearch(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if etcdtest.Full() {
		seeds = 3000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			play(t, seed)
		})
	}
}
