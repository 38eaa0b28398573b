// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package lean_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/lean"
)

type key struct{}

// The server keeps nothing of the calls that were made, and has everything that
// the framework's has.
func TestServer(t *testing.T) {
	server := lean.Server(provider.New("test")())
	if _, ok := server.(tfprotov6.ListResourceServer); !ok {
		t.Error("no list resources")
	}
	if _, ok := server.(tfprotov6.ActionServer); !ok {
		t.Error("no actions")
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.Diagnostics) > 0 {
		t.Fatal(err, schemas.Diagnostics)
	}
	const name = "etcd_discovery_token"
	typ := schemas.ResourceSchemas[name].ValueType()
	null, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	state := &tfprotov6.RawState{JSON: []byte(`{"id":"a"}`)}

	for method, call := range map[string]func(context.Context) error{
		"ValidateResourceConfig": func(ctx context.Context) error {
			_, err := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: &null})
			return err
		},
		"UpgradeResourceState": func(ctx context.Context) error {
			_, err := server.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{TypeName: name, RawState: state})
			return err
		},
		"UpgradeResourceIdentity": func(ctx context.Context) error {
			_, err := server.UpgradeResourceIdentity(ctx, &tfprotov6.UpgradeResourceIdentityRequest{TypeName: "etcd_member", RawIdentity: state})
			return err
		},
		"ReadResource": func(ctx context.Context) error {
			_, err := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: "none"})
			return err
		},
		"PlanResourceChange": func(ctx context.Context) error {
			_, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: "none"})
			return err
		},
		"ApplyResourceChange": func(ctx context.Context) error {
			_, err := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: "none"})
			return err
		},
		"ImportResourceState": func(ctx context.Context) error {
			_, err := server.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: "none"})
			return err
		},
		"ValidateDataResourceConfig": func(ctx context.Context) error {
			_, err := server.ValidateDataResourceConfig(ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: "none"})
			return err
		},
		"ReadDataSource": func(ctx context.Context) error {
			_, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: "none"})
			return err
		},
		"CallFunction": func(ctx context.Context) error {
			_, err := server.CallFunction(ctx, &tfprotov6.CallFunctionRequest{Name: "none"})
			return err
		},
	} {
		t.Run(method, func(t *testing.T) {
			kept := carry(t, call)
			runtime.GC()
			if kept.Value() != nil {
				t.Error("what the call's context held is still there")
			}
		})
	}
	runtime.KeepAlive(server)
}

// carry makes a call with a context that holds something, and ends it as gRPC
// does.
//
//go:noinline
func carry(t *testing.T, call func(context.Context) error) weak.Pointer[[1024]byte] {
	held := new([1024]byte)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, held))
	defer cancel()
	if err := call(ctx); err != nil {
		t.Fatal(err)
	}
	return weak.Make(held)
}
