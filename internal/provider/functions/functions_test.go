// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// run calls a function as the framework does.
func run(t testing.TB, f function.Function, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	t.Helper()
	var definition function.DefinitionResponse
	f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
	result, ferr := definition.Definition.Return.NewResultData(t.Context())
	if ferr != nil {
		t.Fatal(ferr)
	}
	resp := function.RunResponse{Result: result}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	return resp.Result.Value(), resp.Error
}

// argument is a value in JSON as Terraform passes it to a parameter.
func argument(t *testing.T, p function.Parameter, text string) attr.Value {
	t.Helper()
	given, err := driver.FromJSON(text)
	must.Succeed(t, err)
	if p.GetType().Equal(types.DynamicType) {
		return dynamic(t, given)
	}
	v, err := driver.Build(p.GetType().TerraformType(t.Context()), given)
	must.Succeed(t, err)
	value, err := p.GetType().ValueFromTerraform(t.Context(), v)
	must.Succeed(t, err)
	return value
}

// TestFunctions runs the stanzas of testdata/functions.txt. -rewrite rewrites the file.
func TestFunctions(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, filepath.Join("testdata", "functions.txt"), func(t *testing.T, d *datadriven.TestData) string {
		names := map[string][]string{"user_data": {"cloud_config", "ignition"}, "extra": {"cloud_config"}}[d.Cmd]
		said := map[string]bool{}
		for _, construct := range All() {
			f := construct()
			var is function.MetadataResponse
			f.Metadata(t.Context(), function.MetadataRequest{}, &is)
			if slices.Contains(append(names, d.Cmd), is.Name) {
				said[called(t, f, d)] = true
			}
		}
		if len(said) != 1 {
			t.Errorf("%s: %v", d.Pos, said)
		}
		return slices.Collect(maps.Keys(said))[0]
	})
}

// called is what a function returns.
func called(t *testing.T, f function.Function, d *datadriven.TestData) string {
	t.Helper()
	var definition function.DefinitionResponse
	f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
	var arguments []attr.Value
	for i, line := range strings.Split(d.Input, "\n") {
		arguments = append(arguments, argument(t, definition.Definition.Parameters[i], line))
	}
	got, err := run(t, f, arguments...)
	text, is := got.(types.String)
	switch {
	case err != nil && err.FunctionArgument == nil:
		return "of no argument: " + err.Text
	case err != nil:
		return fmt.Sprintf("argument %d: %s", *err.FunctionArgument+1, err.Text)
	case d.Cmd == "extra":
		lines := regexp.MustCompile(`(?m)^"(?:bootcmd|growpart|hostname|small|large|power|minus|set|map)": .*`).FindAllString(text.ValueString(), -1)
		return strings.Join(lines, "\n")
	case d.Cmd == "user_data" && !text.IsUnknown() && !text.IsNull():
		return "a text"
	case is && !text.IsUnknown():
		return text.ValueString()
	}
	return got.String()
}

// Terraform refuses some values before a function runs: null if a parameter
// does not allow it, a fraction of a voter.
func TestNoParameterTakesNull(t *testing.T) {
	for _, f := range All() {
		_, ofUserData := f().(userData)
		var definition function.DefinitionResponse
		f().Definition(t.Context(), function.DefinitionRequest{}, &definition)
		for _, p := range definition.Definition.Parameters {
			// A wrong option must be refused in the first plan.
			if p.GetAllowNullValue() || p.GetAllowUnknownValues() != ofUserData {
				t.Errorf("%s takes null or unknown", p.GetName())
			}
			if p.GetMarkdownDescription() == "" {
				t.Errorf("%s is not described", p.GetName())
			}
		}
		if definition.Definition.Summary == "" || definition.Definition.MarkdownDescription == "" {
			t.Error("a function is not described")
		}
	}
}
