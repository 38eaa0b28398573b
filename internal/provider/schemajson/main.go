// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Command schemajson prints the schemas of the provider in the format of "terraform
// providers schema -json", for the generator of docs/. They do not depend on the
// version of a CLI. Many CLIs support neither actions nor list resources.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

// object is a JSON object.
type object = map[string]any

func main() {
	server := providerserver.NewProtocol6(provider.New("dev", nil, nil))()
	out, err := schemas(context.Background(), server)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// schemas returns the output of the CLI, with the provider under the short name
// that the generator expects.
func schemas(ctx context.Context, server tfprotov6.ProviderServer) (object, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, err
	}
	return object{"format_version": "1.0", "provider_schemas": object{"etcd": object{
		"provider":                   schemaOf(all.Provider),
		"resource_schemas":           each(all.ResourceSchemas, schemaOf),
		"data_source_schemas":        each(all.DataSourceSchemas, schemaOf),
		"ephemeral_resource_schemas": each(all.EphemeralResourceSchemas, schemaOf),
		"list_resource_schemas":      each(all.ListResourceSchemas, schemaOf),
		"action_schemas":             each(all.ActionSchemas, func(a *tfprotov6.ActionSchema) object { return schemaOf(a.Schema) }),
		"resource_identity_schemas":  each(identities.IdentitySchemas, identityOf),
		"functions":                  each(all.Functions, functionOf),
	}}}, nil
}

func each[T any](from map[string]T, convert func(T) object) object {
	out := object{}
	for name, value := range from {
		out[name] = convert(value)
	}
	return out
}

func schemaOf(s *tfprotov6.Schema) object {
	block := object{"attributes": attributesOf(s.Block.Attributes), "description": s.Block.Description, "description_kind": kindOf(s.Block.DescriptionKind)}
	return object{"version": s.Version, "block": block}
}

func attributesOf(attributes []*tfprotov6.SchemaAttribute) object {
	out := object{}
	for _, a := range attributes {
		one := object{
			"description": a.Description, "description_kind": kindOf(a.DescriptionKind), "deprecated": a.Deprecated,
			"required": a.Required, "optional": a.Optional, "computed": a.Computed, "sensitive": a.Sensitive, "write_only": a.WriteOnly,
		}
		if a.NestedType != nil {
			one["nested_type"] = object{"attributes": attributesOf(a.NestedType.Attributes), "nesting_mode": nesting[a.NestedType.Nesting]}
		} else {
			one["type"] = a.Type
		}
		out[a.Name] = one
	}
	return out
}

var nesting = map[tfprotov6.SchemaObjectNestingMode]string{
	tfprotov6.SchemaObjectNestingModeSingle: "single", tfprotov6.SchemaObjectNestingModeList: "list",
	tfprotov6.SchemaObjectNestingModeSet: "set", tfprotov6.SchemaObjectNestingModeMap: "map",
}

func kindOf(kind tfprotov6.StringKind) string {
	if kind == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

func identityOf(s *tfprotov6.ResourceIdentitySchema) object {
	attributes := object{}
	for _, a := range s.IdentityAttributes {
		attributes[a.Name] = object{
			"type": a.Type, "description": a.Description, "required_for_import": a.RequiredForImport, "optional_for_import": a.OptionalForImport,
		}
	}
	return object{"version": s.Version, "attributes": attributes}
}

func functionOf(f *tfprotov6.Function) object {
	parameters := []object{}
	for _, p := range f.Parameters {
		parameters = append(parameters, object{
			"name": p.Name, "description": p.Description, "description_kind": kindOf(p.DescriptionKind), "is_nullable": p.AllowNullValue, "type": p.Type,
		})
	}
	return object{
		"summary": f.Summary, "description": f.Description, "description_kind": kindOf(f.DescriptionKind), "deprecation_message": f.DeprecationMessage,
		"return_type": f.Return.Type, "parameters": parameters,
	}
}
