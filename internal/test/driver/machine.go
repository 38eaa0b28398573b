// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Machines is what happens to machines. The arguments of a machine are name, image,
// version and user_data, all optional. Another one replaces it, except another name. Its
// id is known after apply.
type Machines interface {
	Create(ctx context.Context, values map[string]string) (id string, err error)
	Destroy(ctx context.Context, id string) error
	// Exists is asked by a refresh, which drops a machine that does not exist.
	Exists(ctx context.Context, id string) bool
	// Values are the arguments of a machine that exists, for its import.
	Values(ctx context.Context, id string) map[string]string
}

const machineType = "machine"

var machineSchema = func() *tfprotov6.Schema {
	s := &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}
	for _, name := range []string{"name", "image", "version", "user_data", "id"} {
		s.Block.Attributes = append(s.Block.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: tftypes.String, Optional: name != "id", Computed: name == "id",
		})
	}
	return s
}()

// machines is the provider of machines.
type machines struct {
	tfprotov6.ProviderServer // nothing else is called
	Machines
}

// MachineProvider is a provider of machines for a real CLI, whose only resource is
// machine.
func MachineProvider(m Machines) tfprotov6.ProviderServer { return machines{Machines: m} }

func (machines) GetProviderSchema(
	context.Context, *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:        &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
		ResourceSchemas: map[string]*tfprotov6.Schema{machineType: machineSchema},
	}, nil
}

func (machines) GetResourceIdentitySchemas(
	context.Context, *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (machines) ValidateProviderConfig(
	_ context.Context, req *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: req.Config}, nil
}

func (machines) ConfigureProvider(
	context.Context, *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (machines) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (machines) UpgradeResourceState(
	_ context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, err := req.RawState.Unmarshal(machineSchema.ValueType())
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: dynamic(v)}, err
}

func (m machines) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	resp := &tfprotov6.ReadResourceResponse{NewState: req.CurrentState}
	if !m.Exists(ctx, Attribute(machine(req.CurrentState), "id")) {
		resp.NewState = dynamic(tftypes.NewValue(machineSchema.ValueType(), nil))
	}
	return resp, nil
}

func (m machines) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	values := map[string]tftypes.Value{}
	for _, a := range machineSchema.Block.Attributes {
		values[a.Name] = tftypes.NewValue(tftypes.String, nil)
	}
	for name, v := range m.Values(ctx, req.ID) {
		values[name] = tftypes.NewValue(tftypes.String, v)
	}
	state := withID(tftypes.NewValue(machineSchema.ValueType(), values), req.ID)
	it := &tfprotov6.ImportedResource{TypeName: machineType, State: state}
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{it}}, nil
}

func (machines) PlanResourceChange(
	_ context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp := &tfprotov6.PlanResourceChangeResponse{PlannedState: req.ProposedNewState}
	if machine(req.PriorState).IsNull() {
		resp.PlannedState = withID(machine(req.ProposedNewState), tftypes.UnknownValue)
	}
	for name, was := range parts(machine(req.PriorState)) {
		if now, ok := parts(machine(req.ProposedNewState))[name]; ok && name != "name" && !now.Equal(was) {
			resp.RequiresReplace = append(resp.RequiresReplace, tftypes.NewAttributePath().WithAttributeName(name))
		}
	}
	return resp, nil
}

func (m machines) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	prior, planned := machine(req.PriorState), machine(req.PlannedState)
	resp := &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState}
	var err error
	switch {
	case planned.IsNull():
		err = m.Destroy(ctx, Attribute(prior, "id"))
	case prior.IsNull():
		arguments := map[string]string{}
		for name, v := range parts(planned) {
			if v.IsKnown() && !v.IsNull() {
				arguments[name] = Attribute(v)
			}
		}
		id, failed := m.Create(ctx, arguments)
		resp.NewState, err = withID(planned, id), failed
	}
	if err != nil {
		resp.NewState = req.PriorState
		resp.Diagnostics = []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: err.Error()}}
	}
	return resp, nil
}

// DestroysMachine reports whether a call destroys a machine.
func DestroysMachine(req *tfprotov6.ApplyResourceChangeRequest) bool {
	return req.TypeName == machineType && machine(req.PlannedState).IsNull()
}

func withID(v tftypes.Value, id any) *tfprotov6.DynamicValue {
	values := parts(v)
	values["id"] = tftypes.NewValue(tftypes.String, id)
	return dynamic(tftypes.NewValue(v.Type(), values))
}

func machine(d *tfprotov6.DynamicValue) tftypes.Value {
	v, err := d.Unmarshal(machineSchema.ValueType())
	if err != nil {
		panic(err) // it is this package's own
	}
	return v
}
