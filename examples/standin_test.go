// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemasVariable tells a process that it is a stand-in: a provider that has the
// schema of another project's, of the types that examples use, and nothing
// behind it. It validates, plans what is computed as unknown, and makes it up in an
// apply. Its value is the directory of the schemas.
const schemasVariable = "EXAMPLES_SCHEMAS"

// valuesVariable has values in JSON that are not made up, by attribute, or by type and
// attribute with a dot between.
const valuesVariable = "EXAMPLES_VALUES"

// A schema is kept as the CLI prints it ("providers schema -json"), without
// descriptions.
type (
	jsonSchema struct {
		Version int64     `json:"version"`
		Block   jsonBlock `json:"block"`
	}
	jsonBlock struct {
		Attributes map[string]jsonAttribute   `json:"attributes"`
		BlockTypes map[string]jsonNestedBlock `json:"block_types"`
	}
	jsonNestedBlock struct {
		NestingMode string    `json:"nesting_mode"`
		Block       jsonBlock `json:"block"`
		MinItems    int64     `json:"min_items"`
		MaxItems    int64     `json:"max_items"`
	}
	jsonAttribute struct {
		tfprotov6.SchemaAttribute
		Type       json.RawMessage
		NestedType *jsonNestedType `json:"nested_type"`
		WriteOnly  bool            `json:"write_only"`
	}
	jsonNestedType struct {
		Attributes  map[string]jsonAttribute `json:"attributes"`
		NestingMode string                   `json:"nesting_mode"`
	}
	jsonProvider struct {
		Provider  jsonSchema            `json:"provider"`
		Resources map[string]jsonSchema `json:"resource_schemas"`
		Data      map[string]jsonSchema `json:"data_source_schemas"`
	}
	jsonSchemas struct {
		Providers map[string]jsonProvider `json:"provider_schemas"`
	}
)

func (s jsonSchema) schema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Version: s.Version, Block: s.Block.schema()}
}

// nesting are the modes of blocks and of objects, which have the same numbers.
var nesting = map[string]int32{"single": 1, "list": 2, "set": 3, "map": 4}

func (b jsonBlock) schema() *tfprotov6.SchemaBlock {
	out := &tfprotov6.SchemaBlock{Attributes: schemaOf(b.Attributes)}
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		n := b.BlockTypes[name]
		mode := tfprotov6.SchemaNestedBlockNestingMode(nesting[n.NestingMode])
		out.BlockTypes = append(out.BlockTypes, &tfprotov6.SchemaNestedBlock{TypeName: name, Block: n.Block.schema(), Nesting: mode, MinItems: n.MinItems, MaxItems: n.MaxItems})
	}
	return out
}

func schemaOf(attributes map[string]jsonAttribute) []*tfprotov6.SchemaAttribute {
	var out []*tfprotov6.SchemaAttribute
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		s := a.SchemaAttribute
		s.Name, s.WriteOnly = name, a.WriteOnly
		if a.NestedType == nil {
			var err error
			if s.Type, err = tftypes.ParseJSONType(a.Type); err != nil { //nolint:staticcheck // it is for what a CLI prints
				panic(err)
			}
		} else {
			s.NestedType = &tfprotov6.SchemaObject{Attributes: schemaOf(a.NestedType.Attributes), Nesting: tfprotov6.SchemaObjectNestingMode(nesting[a.NestedType.NestingMode])}
		}
		out = append(out, &s)
	}
	return out
}

// fill returns a value with another one for each attribute that is computed and
// not given.
func (b jsonBlock) fill(v tftypes.Value, missing func(name string, t tftypes.Type) any) (tftypes.Value, error) {
	return tftypes.Transform(v, func(path *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := path.Steps()
		if len(steps) == 0 || !v.IsNull() {
			return v, nil
		}
		name, ok := steps[len(steps)-1].(tftypes.AttributeName)
		if !ok || !b.computed(steps) {
			return v, nil
		}
		return tftypes.NewValue(v.Type(), missing(string(name), v.Type())), nil
	})
}

// computed reports whether the attribute at a path is.
func (b jsonBlock) computed(steps []tftypes.AttributePathStep) (is bool) {
	attributes := b.Attributes
	for _, step := range steps {
		name, ok := step.(tftypes.AttributeName)
		if !ok {
			continue // an element of a collection of objects
		}
		if nested, ok := b.BlockTypes[string(name)]; ok {
			b, attributes = nested.Block, nested.Block.Attributes
			continue
		}
		a := attributes[string(name)]
		is, b, attributes = a.Computed, jsonBlock{}, nil
		if a.NestedType != nil {
			attributes = a.NestedType.Attributes
		}
	}
	return is
}

// standIn implements what plans and applies ask of a provider.
type standIn struct {
	tfprotov6.ProviderServer
	of     jsonProvider
	values map[string]string
}

func schemasIn(file string) (all jsonSchemas, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// serveStandIn serves the provider that the name of the process says.
func serveStandIn(dir string) error {
	name := strings.Replace(strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-"), "_v", "-", 1)
	all, err := schemasIn(filepath.Join(dir, name+".json"))
	if err != nil {
		return err
	}
	values := map[string]string{}
	if text := os.Getenv(valuesVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return err
		}
	}
	for address, of := range all.Providers {
		return tf6server.Serve(address, func() tfprotov6.ProviderServer { return standIn{of: of, values: values} })
	}
	return errors.New("no provider")
}

func schemas(of map[string]jsonSchema) map[string]*tfprotov6.Schema {
	out := map[string]*tfprotov6.Schema{}
	for name, s := range of {
		out[name] = s.schema()
	}
	return out
}

func (s standIn) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{}, nil
}

func (s standIn) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{Provider: s.of.Provider.schema(), ResourceSchemas: schemas(s.of.Resources), DataSourceSchemas: schemas(s.of.Data)}, nil
}

func (s standIn) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s standIn) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s standIn) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s standIn) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s standIn) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

// PlanResourceChange plans a creation, or an update in place.
func (s standIn) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	if none, err := r.PriorState.IsNull(); err != nil || !none {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}, err
	}
	unknown := func(string, tftypes.Type) any { return tftypes.UnknownValue }
	planned, err := filled(s.of.Resources[r.TypeName], r.ProposedNewState, unknown)
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: planned}, err
}

// ReadDataSource answers each text with the name of its attribute.
func (s standIn) ReadDataSource(_ context.Context, r *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	named := func(name string, t tftypes.Type) any {
		if t.Is(tftypes.String) {
			return name
		}
		return nil
	}
	state, err := filled(s.of.Data[r.TypeName], r.Config, named)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

func filled(s jsonSchema, in *tfprotov6.DynamicValue, missing func(string, tftypes.Type) any) (*tfprotov6.DynamicValue, error) {
	t := s.schema().ValueType()
	v, err := in.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	if v, err = s.Block.fill(v, missing); err != nil {
		return nil, err
	}
	out, err := tfprotov6.NewDynamicValue(t, v)
	return &out, err
}

// ApplyResourceChange makes up what is not known.
func (s standIn) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	t := s.of.Resources[r.TypeName].schema().ValueType()
	v, err := r.PlannedState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	v, err = tftypes.Transform(v, func(path *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := path.Steps()
		if v.IsKnown() || len(steps) == 0 {
			return v, nil
		}
		name, _ := steps[len(steps)-1].(tftypes.AttributeName)
		return tftypes.NewValue(v.Type(), s.madeUp(r.TypeName, string(name), v.Type())), nil
	})
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(t, v)
	return &tfprotov6.ApplyResourceChangeResponse{NewState: &state}, err
}

// madeUp is a value of a computed attribute. No two texts are equal.
func (s standIn) madeUp(resource, name string, t tftypes.Type) any {
	n := rand.Uint32()
	switch value, given := s.values[resource+"."+name]; {
	case given:
		return value
	case s.values[name] != "":
		return s.values[name]
	case strings.HasSuffix(name, "public_ip") || name == "ip_address":
		return fmt.Sprintf("127.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	case t.Is(tftypes.String):
		return fmt.Sprint(n)
	case t.Is(tftypes.Bool):
		return false
	}
	return nil
}

// ReadResource finds everything as it was.
func (s standIn) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}, nil
}

// UpgradeResourceState has one version of each schema.
func (s standIn) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	t := s.of.Resources[r.TypeName].schema().ValueType()
	v, err := r.RawState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(t, v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

// StopProvider is called at an interruption.
func (s standIn) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

// standIns returns the stand-ins for acctest.WorkspaceOptions, and what tells
// their processes so. A file of schemas in testdata is NAME-VERSION.json.
func standIns(t *testing.T) (binaries map[string]string, env string) {
	t.Helper()
	own, err := os.Executable()
	must(t, err)
	dir, err := filepath.Abs("testdata")
	must(t, err)
	files, err := filepath.Glob("testdata/*-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas in testdata: %v", err)
	}
	binaries = map[string]string{}
	for _, file := range files {
		all, err := schemasIn(file)
		if err != nil {
			t.Fatal(file, err)
		}
		_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		for address := range all.Providers {
			_, source, _ := strings.Cut(address, "/")
			binaries[source+"/"+version] = own
		}
	}
	return binaries, schemasVariable + "=" + dir
}
