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

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// schemasVariable tells a process that it is a stand-in: a provider that has the
// schema of another project's, of the types that examples use, and nothing
// behind it. It validates, plans what is computed as unknown, and makes it up in an
// apply. Its value is the directory of the schemas.
const schemasVariable = "EXAMPLES_SCHEMAS"

// valuesVariable has values in JSON that are not made up, by attribute, or by type and
// attribute with a dot between.
const valuesVariable = "EXAMPLES_VALUES"

// nesting are the modes of blocks and of objects, which have the same numbers.
var nesting = map[tfjson.SchemaNestingMode]int32{"single": 1, "list": 2, "set": 3, "map": 4}

// schemaOf returns a schema that is kept as the CLI prints it ("providers schema -json"),
// without descriptions.
func schemaOf(s *tfjson.Schema) *tfprotov6.Schema {
	return &tfprotov6.Schema{Version: int64(s.Version), Block: blockOf(s.Block)}
}

func blockOf(b *tfjson.SchemaBlock) *tfprotov6.SchemaBlock {
	out := &tfprotov6.SchemaBlock{Attributes: attributesOf(b.Attributes)}
	for _, name := range slices.Sorted(maps.Keys(b.NestedBlocks)) {
		n := b.NestedBlocks[name]
		mode := tfprotov6.SchemaNestedBlockNestingMode(nesting[n.NestingMode])
		out.BlockTypes = append(out.BlockTypes, &tfprotov6.SchemaNestedBlock{TypeName: name, Block: blockOf(n.Block), Nesting: mode, MinItems: int64(n.MinItems), MaxItems: int64(n.MaxItems)})
	}
	return out
}

func attributesOf(attributes map[string]*tfjson.SchemaAttribute) (out []*tfprotov6.SchemaAttribute) {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		s := &tfprotov6.SchemaAttribute{Name: name, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		if n := a.AttributeNestedType; n != nil {
			s.NestedType = &tfprotov6.SchemaObject{Attributes: attributesOf(n.Attributes), Nesting: tfprotov6.SchemaObjectNestingMode(nesting[n.NestingMode])}
		} else {
			text, err1 := json.Marshal(a.AttributeType)
			typ, err2 := tftypes.ParseJSONType(text) //nolint:staticcheck // it is for what a CLI prints
			if s.Type = typ; err1 != nil || err2 != nil {
				panic(errors.Join(err1, err2))
			}
		}
		out = append(out, s)
	}
	return out
}

// fill returns a value with another one for each attribute that is computed and
// not given.
func fill(b *tfjson.SchemaBlock, v tftypes.Value, missing func(name string, t tftypes.Type) any) (tftypes.Value, error) {
	return tftypes.Transform(v, func(path *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := path.Steps()
		if len(steps) == 0 || !v.IsNull() {
			return v, nil
		}
		name, ok := steps[len(steps)-1].(tftypes.AttributeName)
		if !ok || !computed(b, steps) {
			return v, nil
		}
		return tftypes.NewValue(v.Type(), missing(string(name), v.Type())), nil
	})
}

// computed reports whether the attribute at a path is.
func computed(b *tfjson.SchemaBlock, steps []tftypes.AttributePathStep) (is bool) {
	attributes := b.Attributes
	for _, step := range steps {
		name, ok := step.(tftypes.AttributeName)
		if !ok {
			continue // an element of a collection of objects
		}
		if nested, ok := b.NestedBlocks[string(name)]; ok {
			b, attributes = nested.Block, nested.Block.Attributes
			continue
		}
		a := attributes[string(name)]
		if a == nil {
			return false // it is a part of an attribute
		}
		is, b, attributes = a.Computed, &tfjson.SchemaBlock{}, nil
		if a.AttributeNestedType != nil {
			attributes = a.AttributeNestedType.Attributes
		}
	}
	return is
}

// standIn implements what plans and applies ask of a provider. The provider of machines
// answers what has no other answer here.
type standIn struct {
	tfprotov6.ProviderServer
	of     *tfjson.ProviderSchema
	values map[string]string
}

func schemasIn(file string) (all tfjson.ProviderSchemas, err error) {
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
	for address, of := range all.Schemas {
		return tf6server.Serve(address, func() tfprotov6.ProviderServer { return standIn{driver.MachineProvider(nil), of, values} })
	}
	return errors.New("no provider")
}

func schemas(of map[string]*tfjson.Schema) map[string]*tfprotov6.Schema {
	out := map[string]*tfprotov6.Schema{}
	for name, s := range of {
		out[name] = schemaOf(s)
	}
	return out
}

func (s standIn) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{Provider: schemaOf(s.of.ConfigSchema), ResourceSchemas: schemas(s.of.ResourceSchemas), DataSourceSchemas: schemas(s.of.DataSourceSchemas)}, nil
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
	planned, err := filled(s.of.ResourceSchemas[r.TypeName], r.ProposedNewState, unknown)
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
	state, err := filled(s.of.DataSourceSchemas[r.TypeName], r.Config, named)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

func filled(s *tfjson.Schema, in *tfprotov6.DynamicValue, missing func(string, tftypes.Type) any) (*tfprotov6.DynamicValue, error) {
	t := schemaOf(s).ValueType()
	v, err := in.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	if v, err = fill(s.Block, v, missing); err != nil {
		return nil, err
	}
	out, err := tfprotov6.NewDynamicValue(t, v)
	return &out, err
}

// ApplyResourceChange makes up what is not known.
func (s standIn) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	t := schemaOf(s.of.ResourceSchemas[r.TypeName]).ValueType()
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
	t := schemaOf(s.of.ResourceSchemas[r.TypeName]).ValueType()
	v, err := r.RawState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(t, v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

// standIns returns the stand-ins for acctest.WorkspaceOptions, and what tells
// their processes so. A file of schemas in testdata is NAME-VERSION.json.
func standIns(t *testing.T) (binaries map[string]string, env string) {
	t.Helper()
	own, err := os.Executable()
	must.Succeed(t, err)
	dir, err := filepath.Abs("testdata")
	must.Succeed(t, err)
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
		for address := range all.Schemas {
			_, source, _ := strings.Cut(address, "/")
			binaries[source+"/"+version] = own
		}
	}
	return binaries, schemasVariable + "=" + dir
}
