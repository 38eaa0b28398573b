// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// A token is a capability until it is complete, and so is what contains it.
func TestSensitive(t *testing.T) {
	var made resource.SchemaResponse
	(&tokenResource{}).Schema(t.Context(), resource.SchemaRequest{}, &made)
	var read datasource.SchemaResponse
	NewDataSource().Schema(t.Context(), datasource.SchemaRequest{}, &read)
	secret := map[string]bool{"token": true, "url": true, "id": true, "environment": true}
	for name, attribute := range made.Schema.Attributes {
		if attribute.IsSensitive() != secret[name] {
			t.Errorf("resource: %s is sensitive: %v", name, attribute.IsSensitive())
		}
	}
	for name, attribute := range read.Schema.Attributes {
		if attribute.IsSensitive() != secret[name] {
			t.Errorf("data source: %s is sensitive: %v", name, attribute.IsSensitive())
		}
	}
}
