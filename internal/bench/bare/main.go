// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Command bare is a provider whose resources send no requests. It shows the
// cost of a start and a call that every provider of the framework has.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

type bare struct{}

// Metadata implements provider.Provider.
func (bare) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "bare"
}

// Schema implements provider.Provider.
func (bare) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

// Configure implements provider.Provider.
func (bare) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

// Resources implements provider.Provider.
func (bare) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newThing, newWide}
}

// DataSources implements provider.Provider.
func (bare) DataSources(context.Context) []func() datasource.DataSource { return nil }

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return bare{} }, providerserver.ServeOpts{
		Address: "registry.terraform.io/terraform-provider-etcd/bare",
	})
	if err != nil {
		log.Fatal(err)
	}
}
