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

// Actions returns the action of each resource that changes; none if the plan failed. A
// replacement is "delete create".
func (p *Plan) Actions() map[string]string {
	p.TB.Helper()
	out := map[string]string{}
	for _, c := range p.planned {
		switch {
		case p.ExitCode == 1 || strings.HasPrefix(c.Resource.Resource, "data."):
		case slices.Contains([]string{"noop", "move", "import"}, c.Action):
		case c.Action == "replace":
			out[c.Resource.Addr] = "delete create"
		default:
			out[c.Resource.Addr] = c.Action
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

// Address returns the address of a node's resource. resource is a type, or a
// type and a name.
func Address(resource, key string) string {
	if !strings.Contains(resource, ".") {
		resource += ".node"
	}
	return fmt.Sprintf("%s[%q]", resource, key)
}
