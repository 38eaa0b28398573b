// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

const notDefragmented = "Cannot defragment the members"

var inBrackets = regexp.MustCompile(` \([0-9a-f]+\)`)

// defragment invokes the action. It returns what it does, and its error.
func (w *world) defragment(names string, values driver.Values, each func(string)) (progress, failure string) {
	w.Helper()
	c := w.call("defragment", w.provider(names))
	defer c.run.Close()
	lines, diags := c.act("etcd_defragment", values, each)
	for i, line := range lines {
		line, _, _ = strings.Cut(inBrackets.ReplaceAllString(line, ""), " in ")
		lines[i], _, _ = strings.Cut(line, ":")
	}
	if len(diags) > 0 {
		w.expect("the error", said(diags), notDefragmented)
		failure = inBrackets.ReplaceAllString(diags[0].Detail, "")
	}
	return strings.Join(lines, "; "), failure
}

// Members are defragmented one after the other, the leader last, while all others are
// healthy and the cluster does not stop.
func TestDefragment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names  string
		values driver.Values
		before func(w *world)
		each   func(w *world, line string)
		told   string
		fails  string // "" if it succeeds
	}{
		"all": {names: "a b c", told: "Defragmenting b, 2 left after it.; Defragmented b; Defragmenting c, 1 left after it.; Defragmented c; Defragmenting a, 0 left after it.; Defragmented a"},
		"a learner is left out": {names: "a b c", before: func(w *world) { w.learner("d") },
			told: "Leaving out d; Defragmenting b, 2 left after it.; Defragmented b; Defragmenting c, 1 left after it.; Defragmented c; Defragmenting a, 0 left after it.; Defragmented a"},
		"a learner": {names: "a b c", before: func(w *world) { w.learner("d") }, values: driver.Values{"members": []any{"b", "d"}}, fails: "d is a learner, and etcd lets none be defragmented while it runs."},
		"one":       {names: "a b c", values: driver.Values{"members": []any{"a"}}, told: "Defragmenting a, 0 left after it.; Defragmented a"},
		"one is down": {names: "a b c", before: func(w *world) { w.members["b"].PowerOff() }, values: driver.Values{"members": []any{"c"}},
			fails: "every other one must be healthy. b does not answer"},
		"one dies at it": {names: "a b c", each: func(w *world, line string) {
			if strings.HasPrefix(line, "Defragmenting c") {
				w.members["c"].PowerOff()
			}
		}, told: "Defragmenting b, 2 left after it.; Defragmented b; Defragmenting c, 1 left after it.", fails: "b was before it, a was not touched."},
		"two voters":     {names: "a b", fails: "1 of 2 voters would be left; quorum is 2"},
		"two, who may":   {names: "a b", values: driver.Values{"allow_interruption": true}, told: "Defragmenting b, 1 left after it.; Defragmented b; Defragmenting a, 0 left after it.; Defragmented a"},
		"without space":  {names: "a b c", before: func(w *world) { w.outOfSpace("a") }, values: driver.Values{"members": []any{"b"}}, told: "Defragmenting b, 0 left after it.; Defragmented b"},
		"nobody answers": {names: "a", before: func(w *world) { w.members["a"].PowerOff() }, fails: "The cluster does not answer."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, c.names, func(w *world) {
				if c.before != nil {
					c.before(w)
					w.rest(time.Minute)
				}
				told, failure := w.defragment(c.names, c.values, func(line string) {
					if c.each != nil {
						c.each(w, line)
					}
				})
				w.expect("it does", told, c.told)
				if !strings.Contains(failure, c.fails) || (failure == "") != (c.fails == "") {
					t.Errorf("it fails with %q, want %q", failure, c.fails)
				}
			})
		})
	}
}

// learner adds a learner and starts it.
func (w *world) learner(name string) {
	w.Helper()
	p := w.cluster.NewProcess(name, release)
	_, err := w.client("a").MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)})
	w.must(err, p.Start())
	w.members[name] = p
}

// What is wrong with the configuration is said before any request.
func TestDefragmentInput(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		c := w.call("known", driver.Values{"endpoints": []any{"http://a.example:2379"}})
		_, diags := c.act("etcd_defragment", driver.Values{"timeout": "soon"}, nil)
		w.expect("a timeout", said(diags), "Invalid duration")
		c.run.Close()
		c = w.call("unknown", driver.Values{"endpoints": driver.Unknown{}})
		_, diags = c.act("etcd_defragment", nil, nil)
		w.expect("unknown endpoints", said(diags), notDefragmented)
		c.run.Close()
		w.expect("requests", w.calls, 0)
	})
}

// Every action and list has a description, and so has each of its arguments.
func TestSchemas(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		c := w.call("schemas", nil)
		defer c.run.Close()
		schemas := map[string]*tfprotov6.Schema{}
		for name, s := range c.schemas.ActionSchemas {
			schemas["action "+name] = s.Schema
		}
		for name, s := range c.schemas.ListResourceSchemas {
			schemas["list "+name] = s
		}
		var names []string
		for name, s := range schemas {
			names = append(names, name)
			undescribed := func(a *tfprotov6.SchemaAttribute) bool { return a.Description == "" }
			if s.Block.Description == "" || slices.ContainsFunc(s.Block.Attributes, undescribed) {
				t.Errorf("%s is not described", name)
			}
		}
		slices.Sort(names)
		w.expect("actions and lists", names, "[action etcd_defragment list etcd_cluster list etcd_learner list etcd_member]")
	})
}

// The lists hold the members that etcdctl lists, each with its identity, and with the
// resource if requested.
func TestLists(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		w.learner("d")
		var voters, learners []string
		for _, m := range w.cluster.Members() {
			line := fmt.Sprintf("%s (%x) %x", m.Name, m.ID, m.ID)
			if m.IsLearner {
				learners = append(learners, line)
			} else {
				voters = append(voters, line)
			}
		}
		slices.Sort(voters)
		list := func(what, typ string, limit int64, include bool, want []string, says string) {
			w.Helper()
			c := w.call(what, w.provider("a b c"))
			defer c.run.Close()
			var got, diags []string
			for _, r := range c.list(typ, limit, include) {
				diags = append(diags, said(r.Diagnostics))
				if r.Identity == nil {
					continue
				}
				id, err := r.Identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"cluster_id": tftypes.String, "member_id": tftypes.String}})
				w.must(err)
				got = append(got, r.DisplayName+" "+driver.Attribute(id, "member_id"))
				if (r.Resource != nil) != include {
					t.Errorf("%s: the resource is there: %v", what, !include)
				}
			}
			w.expect(what, strings.Join(got, ", "), strings.Join(want, ", "))
			w.expect(what, strings.Join(diags, ""), says)
		}
		list("voters", "etcd_member", 0, true, voters, "")
		list("two voters", "etcd_member", 2, false, voters[:2], "")
		list("learners", "etcd_learner", 0, false, learners, "")
		w.members["b"].PowerOff()
		w.members["c"].PowerOff()
		list("without a quorum", "etcd_member", 0, false, voters, "(The list may be behind)")
		w.members["a"].PowerOff()
		list("nobody answers", "etcd_member", 0, false, nil, "Cannot list members")
	})
}
