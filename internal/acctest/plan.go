// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"slices"
	"strings"
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
		p.TB.Fatalf("the plan is not empty, it changes %v: %s", p.Actions(), p)
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

// Address returns the address of a node's resource. resource is a type, or a
// type and a name.
func Address(resource, key string) string {
	if !strings.Contains(resource, ".") {
		resource += ".node"
	}
	return fmt.Sprintf("%s[%q]", resource, key)
}
