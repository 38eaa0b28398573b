// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package lean

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

// Serve serves the provider until the CLI is done with it; address is its
// address in a registry, and debug lets a debugger attach.
func Serve(address string, debug bool, p func() provider.Provider) error {
	var opts []tf6server.ServeOpt
	if debug {
		opts = append(opts, tf6server.WithManagedDebug())
	}
	return tf6server.Serve(address, func() tfprotov6.ProviderServer { return Server(p()) }, opts...)
}

// served is all that the framework serves.
type served interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// Server is the framework's server for p without its leak: the framework keeps
// the context of every call until the provider is stopped
// (proto6server.Server.registerContext), which is 60 MB after a refresh of 1000
// resources. Here it is given contexts that become empty; see [callContext].
// That is done for the calls whose number grows with that of the resources.
func Server(p provider.Provider) tfprotov6.ProviderServer {
	whole := providerserver.NewProtocol6(p)()
	if all, ok := whole.(served); ok {
		return &printable{&server{all}}
	}
	return whole
}

// server is the framework's server, called with contexts that end.
type server struct{ served }

// through makes a call with a context of its own.
func through[Q, R any](ctx context.Context, req Q, call func(context.Context, Q) (R, error)) (R, error) {
	ctx, over := during(ctx)
	defer over()
	return call(ctx, req)
}

// ValidateResourceConfig implements [tfprotov6.ResourceServer].
func (s *server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return through(ctx, req, s.served.ValidateResourceConfig)
}

// UpgradeResourceState implements [tfprotov6.ResourceServer].
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return through(ctx, req, s.served.UpgradeResourceState)
}

// UpgradeResourceIdentity implements [tfprotov6.ResourceServer].
func (s *server) UpgradeResourceIdentity(ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return through(ctx, req, s.served.UpgradeResourceIdentity)
}

// ReadResource implements [tfprotov6.ResourceServer].
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return through(ctx, req, s.served.ReadResource)
}

// PlanResourceChange implements [tfprotov6.ResourceServer].
func (s *server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return through(ctx, req, s.served.PlanResourceChange)
}

// ApplyResourceChange implements [tfprotov6.ResourceServer].
func (s *server) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return through(ctx, req, s.served.ApplyResourceChange)
}

// ImportResourceState implements [tfprotov6.ResourceServer].
func (s *server) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return through(ctx, req, s.served.ImportResourceState)
}

// ValidateDataResourceConfig implements [tfprotov6.DataSourceServer].
func (s *server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return through(ctx, req, s.served.ValidateDataResourceConfig)
}

// ReadDataSource implements [tfprotov6.DataSourceServer].
func (s *server) ReadDataSource(ctx context.Context, req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return through(ctx, req, s.served.ReadDataSource)
}

// CallFunction implements [tfprotov6.FunctionServer].
func (s *server) CallFunction(ctx context.Context, req *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return through(ctx, req, s.served.CallFunction)
}
