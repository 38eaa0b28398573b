// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// nested has a nested attribute of each kind, of objects with an argument a and a
// computed attribute b.
func nested(t *testing.T) (*tfprotov6.Schema, func(any) tftypes.Value) {
	s := &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}
	for name, nesting := range map[string]tfprotov6.SchemaObjectNestingMode{
		"one": tfprotov6.SchemaObjectNestingModeSingle, "list": tfprotov6.SchemaObjectNestingModeList,
		"map": tfprotov6.SchemaObjectNestingModeMap, "set": tfprotov6.SchemaObjectNestingModeSet,
	} {
		s.Block.Attributes = append(s.Block.Attributes, &tfprotov6.SchemaAttribute{Name: name, Optional: true, Computed: name != "one", NestedType: &tfprotov6.SchemaObject{
			Nesting: nesting, Attributes: []*tfprotov6.SchemaAttribute{{Name: "a", Type: tftypes.String, Optional: true}, {Name: "b", Type: tftypes.String, Optional: true, Computed: true}},
		}})
	}
	return s, func(values any) tftypes.Value {
		v, err := build(s.ValueType(), values, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestProposed(t *testing.T) {
	s, value := nested(t)
	ab, a := Values{"a": "1", "b": "2"}, Values{"a": "3"}
	a2 := Values{"a": "3", "b": "2"}
	for name, test := range map[string][3]any{ // prior, configuration, proposal
		"nothing before":                          {nil, Values{"one": a}, Values{"one": a}},
		"computed parts stay":                     {Values{"one": ab, "list": []any{ab}, "map": Values{"x": ab}}, Values{"one": a, "list": []any{a, a}, "map": Values{"x": a, "y": a}}, Values{"one": a2, "list": []any{a2, a}, "map": Values{"x": a2, "y": a}}},
		"what was computed stays":                 {Values{"list": []any{Values{"b": "2"}}}, Values{}, Values{"list": []any{Values{"b": "2"}}}},
		"what was configured does not":            {Values{"one": ab, "list": []any{ab}}, Values{}, Values{}},
		"the unknown":                             {Values{"one": ab, "map": Values{"x": ab}}, Values{"one": Unknown{}, "map": Unknown{}}, Values{"one": Unknown{}, "map": Unknown{}}},
		"sets are as configured, in core's order": {Values{"set": []any{ab}}, Values{"set": []any{a, ab, ab}}, Values{"set": []any{ab, a}}},
	} {
		if got, want := proposed(s.Block.Attributes, value(test[0]), value(test[1])), value(test[2]); !got.Equal(want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestPlansAndResultsAreChecked(t *testing.T) {
	s, value := nested(t)
	ab, a, unknown := Values{"a": "1", "b": "2"}, Values{"a": "1"}, Values{"a": "1", "b": Unknown{}}
	for name, test := range map[string]struct {
		prior, config, plan any
		problems            int
	}{
		"as configured":          {nil, Values{"one": ab}, Values{"one": ab}, 0},
		"computed parts":         {nil, Values{"one": a, "list": []any{a}, "map": Values{"x": a}, "set": []any{a}}, Values{"one": ab, "list": []any{unknown}, "map": Values{"x": ab}, "set": []any{ab}}, 0},
		"the prior value":        {Values{"one": Values{"a": "0"}}, Values{"one": a}, Values{"one": Values{"a": "0"}}, 0},
		"another value":          {nil, Values{"one": a, "map": Values{"x": a}}, Values{"one": Values{"a": "2"}, "map": Values{"x": Values{"a": "2"}}}, 2},
		"not configured":         {nil, Values{}, Values{"one": a}, 1},
		"unknown":                {nil, Values{"one": a}, Values{"one": Unknown{}}, 1},
		"configured and missing": {nil, Values{"one": a, "list": []any{a, a}}, Values{"list": []any{a}}, 2},
		"for absence":            {nil, Values{}, nil, 1},
	} {
		if got := validPlan(s.Block.Attributes, value(test.prior), value(test.config), value(test.plan), ""); len(got) != test.problems {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, test := range map[string]struct {
		plan, result any
		problems     []string
	}{
		"the unknown becomes known": {Values{"one": unknown, "list": Unknown{}, "set": []any{unknown, unknown}}, Values{"one": ab, "list": []any{a, a}, "set": []any{ab}}, nil},
		"another value":             {Values{"one": ab}, Values{"one": a}, []string{`.one.b was planned as tftypes.String<"2">, and is tftypes.String<null>`}},
		"more":                      {Values{"list": []any{unknown}}, Values{"list": []any{ab, ab}}, []string{".list was planned with 1 elements, and has 2"}},
		"fewer":                     {Values{"map": Values{"x": unknown}}, Values{"map": Values{}}, []string{".map.x has vanished"}},
	} {
		if got := compatible(value(test.plan), value(test.result), ""); !slices.Equal(got, test.problems) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
