// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var nested = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
	{Name: "one", Optional: true, NestedType: &tfprotov6.SchemaObject{
		Nesting:    tfprotov6.SchemaObjectNestingModeSingle,
		Attributes: []*tfprotov6.SchemaAttribute{{Name: "a", Type: tftypes.String, Optional: true}, {Name: "b", Type: tftypes.String, Optional: true, Computed: true}},
	}},
	{Name: "list", Type: tftypes.List{ElementType: tftypes.String}, Optional: true, Computed: true},
	{Name: "set", Type: tftypes.Set{ElementType: tftypes.String}, Optional: true},
}}}

func nestedValue(t *testing.T, values any) tftypes.Value {
	t.Helper()
	v, err := build(nested.ValueType(), values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProposed(t *testing.T) {
	ab, a, a2 := Values{"a": "1", "b": "2"}, Values{"a": "3"}, Values{"a": "3", "b": "2"}
	for name, test := range map[string][3]any{ // prior, configuration, proposal
		"nothing before":      {nil, Values{"one": a}, Values{"one": a}},
		"computed parts stay": {Values{"one": ab, "list": []any{"x"}}, Values{"one": a}, Values{"one": a2, "list": []any{"x"}}},
		"others do not":       {Values{"one": ab, "set": []any{"x"}}, Values{}, Values{}},
		"the unknown":         {Values{"one": ab}, Values{"one": Unknown{}, "list": Unknown{}}, Values{"one": Unknown{}, "list": Unknown{}}},
	} {
		if got, want := proposed(nested.Block.Attributes, nestedValue(t, test[0]), nestedValue(t, test[1])), nestedValue(t, test[2]); !got.Equal(want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestResultsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		plan, result any
		problem      string
	}{
		"the unknown becomes known": {Values{"one": Values{"b": Unknown{}}, "list": Unknown{}, "set": []any{Unknown{}}}, Values{"one": Values{"b": "1"}, "list": []any{"x"}, "set": []any{"y"}}, ""},
		"another order of a set":    {Values{"set": []any{"x", "y"}}, Values{"set": []any{"y", "x"}}, ""},
		"another value":             {Values{"one": Values{"b": "2"}}, Values{"one": Values{}}, `.one.b was planned as tftypes.String<"2">, and is tftypes.String<null>`},
		"more":                      {Values{"list": []any{Unknown{}}}, Values{"list": []any{"x", "y"}}, `.list was planned as tftypes.List[tftypes.String]<unknown>, and is tftypes.List[tftypes.String]<tftypes.String<"x">, tftypes.String<"y">>`},
	} {
		if got := incompatible(nestedValue(t, test.plan), nestedValue(t, test.result), ""); (got == "") != (test.problem == "") || name == "another value" && got != test.problem {
			t.Errorf("%s: %q", name, got)
		}
	}
}
