// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

const typeName = "etcd_discovery_token"

type (
	attributes = driver.Values
	unknown    = driver.Unknown
)

// session is a workspace with one resource. It shows the diagnostics, which
// Terraform's test framework does not.
type session struct {
	t     *testing.T
	w     *driver.Workspace
	start driver.Start

	// Read once for the tests of every plan.
	schema *schema.Schema
	prior  *model
}

func newSession(t *testing.T, p provider.Provider, endpoints any) *session {
	t.Helper()
	return &session{t: t, w: driver.New(t, attributes{"endpoints": endpoints}), start: func(context.Context) (*driver.Run, error) {
		return &driver.Run{Server: providerserver.NewProtocol6(p)()}, nil
	}}
}

// clone is a session of another process, with the same state.
func (s *session) clone(endpoints any) *session {
	other := &session{t: s.t, w: s.w.Clone(), start: s.start}
	other.w.Provider = attributes{"endpoints": endpoints}
	return other
}

func (s *session) configure(values attributes) {
	s.w.Resources = []driver.Resource{{Type: typeName, Name: "this", Values: values}}
}

// state is the resource in the state.
func (s *session) state() tftypes.Value {
	if o := s.w.State(address); o != nil {
		return o.Value
	}
	return tftypes.Value{}
}

// validate returns the errors and warnings of a configuration.
func (s *session) validate(config attributes) []string {
	s.configure(config)
	return texts(s.w.Validate(s.t.Context(), s.start))
}

// planned is the result of a plan.
type planned struct {
	plan   *driver.Plan // nil if there is an error
	action string
	value  tftypes.Value
	texts  []string
}

// plan plans for a configuration, without a refresh.
func (s *session) plan(config attributes, opts ...driver.Option) planned {
	s.configure(config)
	plan, r := s.w.Plan(s.t.Context(), s.start, append(opts, driver.NoRefresh)...)
	out := planned{plan: plan, texts: texts(r)}
	if plan != nil {
		c := plan.Change(address)
		out.action, out.value = c.Action, c.After
	}
	return out
}

// carryOut applies a plan. It returns what the plan has not said: Terraform plans
// again during the apply.
func (s *session) carryOut(p planned) []string {
	s.t.Helper()
	if p.plan == nil {
		s.t.Fatalf("no plan: %q", p.texts)
	}
	said := func(text string) bool { return slices.Contains(p.texts, text) }
	return slices.DeleteFunc(texts(s.w.Apply(s.t.Context(), s.start, p.plan)), said)
}

// up plans and applies, and fails the test at any diagnostic.
func (s *session) up(config attributes) planned {
	s.t.Helper()
	p := s.plan(config)
	if diags := append(p.texts, s.carryOut(p)...); len(diags) > 0 {
		s.t.Fatalf("diagnostics: %q", diags)
	}
	return p
}

// refresh reads the resource.
func (s *session) refresh() []string {
	s.w.Resources = nil
	return texts(s.w.Refresh(s.t.Context(), s.start))
}

// destroy plans and applies a removal.
func (s *session) destroy() []string {
	s.w.Resources = nil
	_, r := s.w.Up(s.t.Context(), s.start, driver.NoRefresh)
	return texts(r)
}

// importState imports by ID and reads.
func (s *session) importState(id string) []string {
	s.configure(attributes{"size": 3})
	return texts(s.w.Import(s.t.Context(), s.start, address, id))
}

// texts writes diagnostics as "warning: Summary: Detail".
func texts(r driver.Result) []string {
	var out []string
	for _, d := range r.Diagnostics {
		kind := "error"
		if d.Warning {
			kind = "warning"
		}
		out = append(out, kind+": "+d.Summary+": "+d.Detail)
	}
	return out
}
