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
// Nested sets are as configured.
func proposed(attributes []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	before, now := parts(prior), parts(config)
	for _, a := range attributes {
		was, set := part(before, a), now[a.Name]
		switch {
		case a.Computed && set.IsNull():
			if !a.Optional || a.NestedType == nil || !given(a.NestedType, was) {
				now[a.Name] = was
			}
		case a.NestedType == nil || set.IsNull() || !set.IsKnown() || a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSet:
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			now[a.Name] = proposed(a.NestedType.Attributes, was, set)
		default:
			old, items := parts(was), parts(set)
			for key, item := range items {
				items[key] = proposed(a.NestedType.Attributes, old[key], item)
			}
			now[a.Name] = join(set.Type(), items)
		}
	}
	return join(config.Type(), now)
}

// given is whether a value has something that only a configuration can give it.
func given(nested *tfprotov6.SchemaObject, v tftypes.Value) bool {
	items := []map[string]tftypes.Value{parts(v)}
	if nested.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
		items = nil
		for _, item := range parts(v) {
			items = append(items, parts(item))
		}
	}
	return slices.ContainsFunc(items, func(item map[string]tftypes.Value) bool {
		return slices.ContainsFunc(nested.Attributes, func(a *tfprotov6.SchemaAttribute) bool {
			return !item[a.Name].IsNull() && (!a.Computed || a.NestedType != nil && given(a.NestedType, item[a.Name]))
		})
	})
}

func part(of map[string]tftypes.Value, a *tfprotov6.SchemaAttribute) tftypes.Value {
	if v, ok := of[a.Name]; ok {
		return v
	}
	return tftypes.NewValue(a.ValueType(), nil)
}

// validPlan returns what core finds wrong with a plan (objchange.AssertPlanValid):
// a value is as configured, or the prior one instead of the configured one, or
// anything where the configuration may leave it to the provider.
func validPlan(attributes []*tfprotov6.SchemaAttribute, prior, config, planned tftypes.Value, path string) (problems []string) {
	if planned.IsNull() || !planned.IsKnown() {
		return []string{path + " is planned as " + planned.String() + ", although it is configured"}
	}
	before, set, now := parts(prior), parts(config), parts(planned)
	for _, a := range attributes {
		was, want, got := part(before, a), part(set, a), part(now, a)
		at := path + "." + a.Name
		switch {
		case got.Equal(want), got.Equal(was) && !was.IsNull() && !want.IsNull():
		case a.Computed && (!a.Optional || want.IsNull()):
		case a.NestedType == nil || want.IsNull() || !want.IsKnown():
			problems = append(problems, fmt.Sprintf("%s is planned as %s, configured as %s, and was %s", at, got, want, was))
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSet && got.IsKnown() && !got.IsNull():
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle || got.IsNull() || !got.IsKnown():
			problems = append(problems, validPlan(a.NestedType.Attributes, was, want, got, at)...)
		default:
			old, wants, gots := parts(was), parts(want), parts(got)
			if len(wants) != len(gots) {
				problems = append(problems, fmt.Sprintf("%s is planned with %d elements, and configured with %d", at, len(gots), len(wants)))
			}
			for _, key := range slices.Sorted(maps.Keys(gots)) {
				problems = append(problems, validPlan(a.NestedType.Attributes, old[key], wants[key], gots[key], at+"."+key)...)
			}
		}
	}
	return problems
}

// compatible returns where a value does not keep what was planned
// (objchange.AssertObjectCompatible): only the unknown may change.
func compatible(planned, actual tftypes.Value, path string) (problems []string) {
	want, got := parts(planned), parts(actual)
	switch {
	case !planned.IsKnown() || planned.Equal(actual):
		return nil
	case planned.IsNull() || actual.IsNull() || !actual.IsKnown() || len(want)+len(got) == 0:
		return []string{fmt.Sprintf("%s was planned as %s, and is %s", path, planned, actual)}
	}
	if planned.Type().Is(tftypes.Set{}) {
		// Elements cannot be told apart once they are known. There can be fewer.
		for _, w := range want {
			if !slices.ContainsFunc(slices.Collect(maps.Values(got)), func(g tftypes.Value) bool { return len(compatible(w, g, "")) == 0 }) {
				return []string{fmt.Sprintf("%s was planned with %s, and is %s", path, w, actual)}
			}
		}
	} else {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[key]; !ok {
				return []string{path + "." + key + " has vanished"}
			}
			problems = append(problems, compatible(want[key], got[key], path+"."+key)...)
		}
	}
	if len(got) > len(want) {
		problems = append(problems, fmt.Sprintf("%s was planned with %d elements, and has %d", path, len(want), len(got)))
	}
	return problems
}

// changed is whether one of the attributes that require a replacement changes.
func changed(paths []*tftypes.AttributePath, prior, planned tftypes.Value) (yes bool, problems []string) {
	for _, path := range paths {
		was, _, errWas := tftypes.WalkAttributePath(prior, path)
		is, _, errIs := tftypes.WalkAttributePath(planned, path)
		if errWas != nil && errIs != nil && !prior.IsNull() {
			problems = append(problems, "requires a replacement for "+path.String()+", which does not exist")
			continue
		}
		before, _ := was.(tftypes.Value)
		now, _ := is.(tftypes.Value)
		yes = yes || !prior.IsNull() && !now.Equal(before)
	}
	return yes, problems
}
