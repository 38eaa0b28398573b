// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Plan is a plan and the run that created it.
type Plan struct {
	*Outcome
	// File is the saved plan, in the directory of the workspace.
	File string

	w       *Workspace
	changes map[string]Change // nil until they are read from the file
}

// Changes returns the resource changes by address, without no-op changes.
func (p *Plan) Changes() map[string]Change { p.TB.Helper(); p.read(); return p.changes }

// read reads the file at first use: for that the CLI starts again, which costs
// as much as a plan, and often the printed actions are enough.
func (p *Plan) read() {
	p.TB.Helper()
	if p.changes != nil {
		return
	}
	p.changes = map[string]Change{}
	if p.ExitCode == 2 {
		p.decode(p.w.Run("show", "-json", p.File).MustSucceed().Stdout)
	}
}

// Change is the planned change of one resource.
type Change struct {
	Actions []string       `json:"actions"`
	Before  map[string]any `json:"before"`
	After   map[string]any `json:"after"`
}

func (p *Plan) decode(text []byte) {
	p.TB.Helper()
	type resource struct {
		Address string `json:"address"`
		Mode    string `json:"mode"`
		Change  Change `json:"change"`
	}
	var doc struct {
		Changes []resource `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		p.TB.Fatalf("acctest: the plan: %v", err)
	}
	for _, r := range doc.Changes {
		if r.Mode == "managed" && !slices.Equal(r.Change.Actions, []string{"no-op"}) {
			p.changes[r.Address] = r.Change
		}
	}
}

// MustBeEmpty fails the test unless the plan has no changes, including outputs.
func (p *Plan) MustBeEmpty() {
	p.TB.Helper()
	if p.ExitCode != 0 || len(p.Actions()) > 0 {
		p.TB.Fatalf("the plan is not empty: exit code %d, changes %v\n%s", p.ExitCode, p.Actions(), p.Report())
	}
}

// MustDo fails the test unless exactly these resources change, each with this
// action: create, update, delete or "delete create".
func (p *Plan) MustDo(want map[string]string) {
	p.TB.Helper()
	if got := p.Actions(); p.ExitCode == 1 || !maps.Equal(got, want) {
		p.TB.Fatalf("exit code %d, planned\n%s\nwant\n%s\n%s", p.ExitCode, ActionList(got), ActionList(want), p.Report())
	}
}

// Actions returns the action of each resource that changes, as printed; none if
// the plan failed. What is printed as a replacement is read from the file, which
// has its order.
func (p *Plan) Actions() map[string]string {
	p.TB.Helper()
	out := map[string]string{}
	if p.ExitCode == 1 {
		return out
	}
	for _, c := range p.planned {
		_, twice := out[c.Resource.Addr]
		switch {
		case strings.HasPrefix(c.Resource.Resource, "data."):
		case !twice && slices.Contains([]string{"create", "update", "delete"}, c.Action):
			out[c.Resource.Addr] = c.Action
		case slices.Contains([]string{"noop", "move", "import"}, c.Action):
		default:
			clear(out)
			for address, c := range p.Changes() {
				out[address] = strings.Join(c.Actions, " ")
			}
			return out
		}
	}
	return out
}

// ActionList formats the actions of a plan, a line for each address.
func ActionList(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "  %s: %s\n", k, m[k])
	}
	return b.String()
}

// stateOf returns the attributes of a resource of the root module in a state
// file.
func stateOf(tb testing.TB, text []byte, address string) map[string]any {
	tb.Helper()
	var doc struct {
		Resources []struct {
			Module    string `json:"module"`
			Mode      string `json:"mode"`
			Type      string `json:"type"`
			Name      string `json:"name"`
			Instances []struct {
				Key        any            `json:"index_key"`
				Deposed    string         `json:"deposed"`
				Attributes map[string]any `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		tb.Fatalf("acctest: the state: %v", err)
	}
	for _, r := range doc.Resources {
		if r.Module != "" {
			continue
		}
		for _, i := range r.Instances {
			at := r.Type + "." + r.Name
			if r.Mode == "data" {
				at = "data." + at
			}
			if i.Key != nil {
				at += fmt.Sprintf("[%#v]", i.Key)
			}
			if at == address && i.Deposed == "" {
				return i.Attributes
			}
		}
	}
	return nil
}

// Endangered is the summary of the error if the guard refuses a plan.
const Endangered = "This plan would endanger the cluster"

// Address returns the address of a node's resource. resource is a type, or a
// type and a name.
func Address(resource, key string) string {
	if !strings.Contains(resource, ".") {
		resource += ".node"
	}
	return fmt.Sprintf("%s[%q]", resource, key)
}
