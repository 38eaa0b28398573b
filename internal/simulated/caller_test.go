// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// caller is a provider process that is asked for what package driver leaves out: data
// sources, ephemeral resources, lists and actions. Each method stops at the first errors.
type caller struct {
	*world
	run     *driver.Run
	schemas *tfprotov6.GetProviderSchemaResponse
}

// call starts a provider process and configures it.
func (w *world) call(run string, provider driver.Values) *caller {
	w.Helper()
	r, err := w.start(run)(w.Context())
	w.must(err)
	c := &caller{world: w, run: r}
	c.schemas, err = r.Server.GetProviderSchema(w.Context(), &tfprotov6.GetProviderSchemaRequest{})
	w.must(err)
	configured, err := r.Server.ConfigureProvider(w.Context(), &tfprotov6.ConfigureProviderRequest{Config: c.value(c.schemas.Provider, provider), TerraformVersion: "1.14.0"})
	w.must(err)
	w.ok(driver.ResultOf("provider", configured.Diagnostics))
	return c
}

func (c *caller) value(s *tfprotov6.Schema, values driver.Values) *tfprotov6.DynamicValue {
	c.Helper()
	v, err := driver.Build(s.ValueType(), values)
	c.must(err)
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	c.must(err)
	return &d
}

// turn waits for the turn of a call.
func (c *caller) turn(resource, method string) context.Context {
	c.Helper()
	ctx, err := c.run.Context(c.Context(), resource, method)
	c.must(err)
	return ctx
}

// summaries are those of diagnostics, in order. Warnings are in brackets.
func summaries(r driver.Result) string {
	var out []string
	for _, d := range r.Diagnostics {
		s := d.Summary
		if d.Warning {
			s = "(" + s + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// read reads a data source in a process of its own.
func (w *world) read(provider driver.Values, typ string, values driver.Values) (out tftypes.Value, r driver.Result) {
	w.Helper()
	c := w.call("read", provider)
	defer c.run.Close()
	schema := c.schemas.DataSourceSchemas[typ]
	config := c.value(schema, values)
	valid, err := c.run.Server.ValidateDataResourceConfig(c.turn("data."+typ, "validate"), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typ, Config: config})
	c.must(err)
	if len(valid.Diagnostics) > 0 {
		return out, driver.ResultOf("data."+typ, valid.Diagnostics)
	}
	resp, err := c.run.Server.ReadDataSource(c.turn("data."+typ, "read"), &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: config})
	c.must(err)
	if resp.State != nil {
		out, err = resp.State.Unmarshal(schema.ValueType())
		c.must(err)
	}
	return out, driver.ResultOf("data."+typ, resp.Diagnostics)
}

// open opens an ephemeral resource. The function closes it.
func (c *caller) open(typ string, values driver.Values) (out tftypes.Value, diags []*tfprotov6.Diagnostic, end func() []*tfprotov6.Diagnostic) {
	c.Helper()
	server := c.run.Server
	schema := c.schemas.EphemeralResourceSchemas[typ]
	config := c.value(schema, values)
	valid, err := server.ValidateEphemeralResourceConfig(c.turn(typ, "validate"), &tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: typ, Config: config})
	c.must(err)
	if len(valid.Diagnostics) > 0 {
		return out, valid.Diagnostics, nil
	}
	resp, err := server.OpenEphemeralResource(c.turn(typ, "open"), &tfprotov6.OpenEphemeralResourceRequest{TypeName: typ, Config: config})
	c.must(err)
	if resp.Result != nil {
		out, err = resp.Result.Unmarshal(schema.ValueType())
		c.must(err)
	}
	return out, resp.Diagnostics, func() []*tfprotov6.Diagnostic {
		closed, err := server.CloseEphemeralResource(c.turn(typ, "close"), &tfprotov6.CloseEphemeralResourceRequest{TypeName: typ, Private: resp.Private})
		c.must(err)
		return closed.Diagnostics
	}
}

// list is terraform query for one type.
func (c *caller) list(typ string, limit int64, include bool) []tfprotov6.ListResourceResult {
	c.Helper()
	server, ok := c.run.Server.(tfprotov6.ListResourceServer)
	if !ok {
		c.Fatal("the provider has no lists")
	}
	stream, err := server.ListResource(c.turn(typ, "list"), &tfprotov6.ListResourceRequest{
		TypeName: typ, Config: c.value(c.schemas.ListResourceSchemas[typ], driver.Values{}), Limit: limit, IncludeResource: include,
	})
	c.must(err)
	return slices.Collect(stream.Results)
}

// act invokes an action, and returns its progress and its diagnostics. each is called for
// each line of progress, unless it is nil.
func (c *caller) act(typ string, values driver.Values, each func(string)) (progress []string, diags []*tfprotov6.Diagnostic) {
	c.Helper()
	server, ok := c.run.Server.(tfprotov6.ActionServer)
	if !ok {
		c.Fatal("the provider has no actions")
	}
	config := c.value(c.schemas.ActionSchemas[typ].Schema, values)
	valid, err := server.ValidateActionConfig(c.turn(typ, "validate"), &tfprotov6.ValidateActionConfigRequest{ActionType: typ, Config: config})
	c.must(err)
	if len(valid.Diagnostics) > 0 {
		return nil, valid.Diagnostics
	}
	planned, err := server.PlanAction(c.turn(typ, "plan"), &tfprotov6.PlanActionRequest{ActionType: typ, Config: config})
	c.must(err)
	if len(planned.Diagnostics) > 0 {
		return nil, planned.Diagnostics
	}
	stream, err := server.InvokeAction(c.turn(typ, "invoke"), &tfprotov6.InvokeActionRequest{ActionType: typ, Config: config})
	c.must(err)
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
			if each != nil {
				each(e.Message)
			}
		case tfprotov6.CompletedInvokeActionEventType:
			diags = e.Diagnostics
		}
	}
	return progress, diags
}
