// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Outcome is the result of one run of the CLI.
type Outcome struct {
	Args     []string
	ExitCode int
	Took     time.Duration
	Stdout   []byte
	Stderr   []byte
	// Diagnostics are the errors and warnings, in order.
	Diagnostics []Diagnostic
	// Hooks are the start and the end of each change.
	Hooks []Hook

	TB       testing.TB
	Messages []string
	planned  []plannedChange
}

// plannedChange is the change of a resource as a plan prints it.
type plannedChange struct {
	Resource struct {
		Addr     string `json:"addr"`
		Resource string `json:"resource"` // without its module
	} `json:"resource"`
	Action string `json:"action"`
}

// Diagnostic is an error or a warning as the user reads it, not wrapped.
type Diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
}

// String returns the diagnostic as one text.
func (d Diagnostic) String() string {
	return d.Severity + ": " + d.Summary + "\n" + d.Detail + "\n(" + d.Address + ")"
}

// Hook is a step of an apply.
type Hook struct {
	// Type is apply_start, apply_complete or apply_errored, among others.
	Type    string
	Address string
	Action  string
}

// devOverrides is a warning of the CLI itself.
const devOverrides = "Provider development overrides are in effect"

func (o *Outcome) parse() {
	for line := range bytes.Lines(o.Stdout) {
		var l struct {
			Message    string     `json:"@message"`
			Time       time.Time  `json:"@timestamp"`
			Type       string     `json:"type"`
			Diagnostic Diagnostic `json:"diagnostic"`
			Hook       struct {
				Resource struct {
					Addr string `json:"addr"`
				} `json:"resource"`
				Action string `json:"action"`
			} `json:"hook"`
			Change plannedChange `json:"change"`
		}
		if json.Unmarshal(line, &l) != nil {
			continue // not every command prints JSON
		}
		if l.Type == "" {
			continue
		}
		switch {
		case l.Type == "diagnostic" && strings.HasPrefix(l.Diagnostic.Summary, devOverrides):
			continue
		case l.Type == "diagnostic":
			o.Diagnostics = append(o.Diagnostics, l.Diagnostic)
			o.Messages = append(o.Messages, l.Diagnostic.String())
			continue
		case l.Type == "planned_change":
			o.planned = append(o.planned, l.Change)
		case l.Hook.Resource.Addr != "":
			o.Hooks = append(o.Hooks, Hook{l.Type, l.Hook.Resource.Addr, l.Hook.Action})
		}
		if !strings.HasPrefix(l.Type, "refresh_") {
			o.Messages = append(o.Messages, l.Time.Format("15:04:05.000 ")+l.Message)
		}
	}
}

// String formats the run for the log of a failed test.
func (o *Outcome) String() string {
	text := strings.Join(o.Messages, "\n")
	if o.Args[0] == "init" {
		text = string(o.Stdout)
	}
	return fmt.Sprintf("%s: exit code %d after %v\n%s\n%s", strings.Join(o.Args, " "), o.ExitCode, o.Took.Round(time.Millisecond), text, o.Stderr)
}

// MustSucceed fails the test unless the exit code is 0.
func (o *Outcome) MustSucceed() *Outcome {
	o.TB.Helper()
	if o.ExitCode != 0 {
		o.TB.Fatalf("want exit code 0: %s", o)
	}
	return o
}

// MustBeQuiet fails the test if there is any diagnostic.
func (o *Outcome) MustBeQuiet() *Outcome {
	o.TB.Helper()
	if len(o.Diagnostics) > 0 {
		o.TB.Fatalf("there are diagnostics: %s", o)
	}
	return o
}

// Errors returns the errors.
func (o *Outcome) Errors() (errors []Diagnostic) {
	for _, d := range o.Diagnostics {
		if d.Severity == "error" {
			errors = append(errors, d)
		}
	}
	return errors
}

// MustSay fails the test unless the run failed with exactly one error, with that summary
// and a detail that contains the texts in this order.
func (o *Outcome) MustSay(summary string, texts ...string) {
	o.TB.Helper()
	errors := o.Errors()
	if o.ExitCode != 1 || len(errors) != 1 || errors[0].Summary != summary {
		o.TB.Fatalf("want one error, %q: %s", summary, o)
	}
	rest := errors[0].Detail
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			o.TB.Fatalf("no %q in what follows:\n%s", text, rest)
		}
		rest = after
	}
}

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
