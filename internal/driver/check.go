// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// proposed is the state that core proposes (objchange.ProposedNew): the
// configuration, and the prior values of computed attributes that are null in it.
func proposed(attributes []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	before, now := parts(prior), parts(config)
	for _, a := range attributes {
		was, ok := before[a.Name]
		switch {
		case !ok:
		case a.Computed && now[a.Name].IsNull():
			now[a.Name] = was
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			now[a.Name] = proposed(a.NestedType.Attributes, was, now[a.Name])
		}
	}
	return join(config.Type(), now)
}

// incompatible returns where a value does not keep what was planned
// (objchange.AssertObjectCompatible): only the unknown may change.
func incompatible(planned, actual tftypes.Value, path string) string {
	want, got := parts(planned), parts(actual)
	switch {
	case !planned.IsKnown() || planned.Equal(actual):
		return ""
	case planned.Type().Is(tftypes.Set{}) && !planned.IsFullyKnown():
		return "" // its elements cannot be told apart
	case len(want) == 0 || len(want) != len(got):
		return fmt.Sprintf("%s was planned as %s, and is %s", path, planned, actual)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if problem := incompatible(want[key], got[key], path+"."+key); problem != "" {
			return problem
		}
	}
	return ""
}
