// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// setup is a configuration as a value: edits change it, and it is written again
// before each command.
type setup struct {
	layout   layout
	nodes    map[string]acctest.Node
	founders []string
	// without are the dropped arguments, by resource.
	without map[string]string
	// removed: a removed block gives the members up.
	removed bool
	// moved are moved blocks.
	moved string
}

func (s setup) clone() setup {
	s.nodes, s.founders, s.without = maps.Clone(s.nodes), slices.Clone(s.founders), maps.Clone(s.without)
	return s
}

// keys returns the sorted keys of the nodes.
func (s setup) keys() []string { return slices.Sorted(maps.Keys(s.nodes)) }

// memberName returns the name of the member of a node.
func (s setup) memberName(key string) string { return cmp.Or(s.nodes[key].Name, key) }

// write writes the actor's configuration to the workspace.
func (a *actor) write() {
	a.in = a.now.layout
	clear(a.Nodes)
	for key, n := range a.now.nodes {
		a.Nodes[key] = &n
		a.known[n.Client] = true
	}
	a.Founders = a.now.founders
	text := a.texts[a.in]
	if a.now.removed {
		before, rest, found := strings.Cut(text, "resource \"etcd_member\" \"node\"")
		_, after, ends := strings.Cut(rest, "\n}\n")
		if !found || !ends {
			a.TB.Fatal("acctest: there is no block of etcd_member")
		}
		text = before + after
	}
	main := a.file("main.tf")
	if a.Read(main) != text {
		a.Write(main, text)
	}
	dropped, removed := "# nothing\n", "# nothing\n"
	for _, resource := range slices.Sorted(maps.Keys(a.now.without)) {
		if resource != "etcd_member" || !a.now.removed {
			dropped += fmt.Sprintf("resource %q \"node\" {\n  %s = null\n}\n", resource, a.now.without[resource])
		}
	}
	if a.now.removed {
		removed += "removed {\n  from = etcd_member.node\n  lifecycle {\n    destroy = false\n  }\n}\n"
	}
	a.Write(a.file("dropped_override.tf"), dropped)
	a.Write(a.file("removed.tf"), removed)
	a.Write("moved.tf", "# nothing\n"+a.now.moved)
	a.watch.Follow(a.byName())
}

// byName returns the nodes by the names of their members, which are also the
// names of their machines.
func (a *actor) byName() map[string]*acctest.Node {
	out := map[string]*acctest.Node{}
	for key := range a.now.nodes {
		n := a.now.nodes[key]
		out[a.now.memberName(key)] = &n
	}
	return out
}

// key returns the key of the first node of a step: the position is taken modulo
// the number of nodes.
func (a *actor) key(s deed) string {
	keys := a.now.keys()
	return keys[s.who%len(keys)]
}

// second returns the other node of a step, or "" if there is only one.
func (a *actor) second(s deed) string {
	keys := a.now.keys()
	other := keys[(s.who+s.also)%len(keys)]
	if other == a.key(s) {
		return ""
	}
	return other
}

// targets returns the addresses of the part of a step, for one or two nodes.
func (a *actor) targets(s deed) []string {
	if s.part == bootstrapPart {
		return []string{bootstrapPart + ".this"}
	}
	keys := []string{a.key(s)}
	if other := a.second(s); other != "" {
		keys = append(keys, other)
	}
	return a.addrs(a.resource(s.part, keys[0]), keys...)
}

// resource returns the resource type of a part of a node, which may be a
// learner.
func (a *actor) resource(part, key string) string {
	if part == "etcd_member" && a.now.nodes[key].Joins == "learner" {
		return "etcd_learner"
	}
	return part
}

// entry is a resource in the state.
type entry struct {
	address, resource string
	// member is the name of its member.
	member  string
	tainted bool
	values  map[string]any
}

// entries reads the current state, by address.
func (a *actor) entries() map[string]entry {
	a.t.Helper()
	var doc struct {
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				Key        any `json:"index_key"`
				Status     string
				Attributes map[string]any
			}
		}
	}
	out := map[string]entry{}
	if err := json.Unmarshal([]byte(a.Read("terraform.tfstate")), &doc); err != nil {
		a.TB.Fatalf("acctest: the state: %v", err)
	}
	for _, r := range doc.Resources {
		if r.Mode != "managed" {
			continue
		}
		for _, i := range r.Instances {
			address := r.Type + "." + r.Name
			if r.Module != "" {
				address = r.Module + "." + address
			}
			address += indexOf(i.Key)
			out[address] = entry{address, r.Type, memberOf(i.Attributes), i.Status == "tainted", i.Attributes}
		}
	}
	return out
}

// memberOf returns the name of the member of a resource, according to its
// attributes.
func memberOf(values map[string]any) string {
	if name, ok := values["name"].(string); ok && name != "" {
		return name
	}
	if config, ok := values["config"].(map[string]any); ok {
		name, _ := config["name"].(string)
		return name
	}
	if input, ok := values["input"].(map[string]any); ok {
		if value, ok := input["value"].(map[string]any); ok {
			dir, _ := value["dir"].(string)
			return filepath.Base(dir)
		}
	}
	return ""
}

// wanted returns the configured addresses of the resources of each member, by
// type.
func (a *actor) wanted() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, key := range a.now.keys() {
		of := map[string]string{}
		for _, resource := range nodeResources {
			resource = a.resource(resource, key)
			kind, _, _ := strings.Cut(resource, ".")
			of[kind] = a.addr(resource, key)
		}
		out[a.now.memberName(key)] = of
	}
	return out
}

// movedBlock matches one moved block.
var movedBlock = regexp.MustCompile(`from = (\S+)\n\s*to\s+= (\S+)`)

// pending returns the configured moves that are not in the state yet: the
// previous addresses by the new ones.
func (a *actor) pending() map[string]string {
	out, entries := map[string]string{}, a.entries()
	for _, m := range movedBlock.FindAllStringSubmatch(a.now.moved, -1) {
		if _, is := entries[m[1]]; is {
			out[m[2]] = m[1]
		}
	}
	return out
}

// movedBlocks returns the blocks for all resources with a different address in
// the state and in the configuration.
func (a *actor) movedBlocks() string {
	wanted, text := a.wanted(), ""
	entries := a.entries()
	for _, address := range slices.Sorted(maps.Keys(entries)) {
		e := entries[address]
		to := wanted[e.member][e.resource]
		if to == "" || to == address {
			continue
		}
		if _, taken := entries[to]; !taken || wanted[entries[to].member][e.resource] != to {
			text += moved(address, to)
		}
	}
	return text
}
