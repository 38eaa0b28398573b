// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
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

// dynamic returns a value as Terraform passes it to a parameter of any type.
func dynamic(t *testing.T, v any) types.Dynamic {
	t.Helper()
	if d, is := valueOf(t, v).(types.Dynamic); is {
		return d
	}
	return types.DynamicValue(valueOf(t, v))
}

func valueOf(t *testing.T, v any) attr.Value {
	t.Helper()
	switch v := v.(type) {
	case driver.Values:
		kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
		for key, element := range v {
			values[key] = valueOf(t, element)
			kinds[key] = values[key].Type(t.Context())
		}
		return types.ObjectValueMust(kinds, values)
	case []any:
		return types.TupleValueMust(nil, nil)
	case json.Number:
		f, _, err := big.ParseFloat(v.String(), 10, 512, big.ToNearestEven)
		must.Succeed(t, err)
		return types.NumberValue(f)
	case string:
		return types.StringValue(v)
	case attr.Value:
		return v
	case driver.Unknown:
		return types.DynamicUnknown()
	default:
		return types.DynamicNull()
	}
}

// cloudConfigOf calls cloud_config for a node.
func cloudConfigOf(t *testing.T, options any) string {
	t.Helper()
	node := argument(t, function.ObjectParameter{AttributeTypes: nodeTypes}, `{"environment": {"ETCD_NAME": "a"}, "join_script_base64gzip": "H4sI", "start": "{\"format\": 1}"}`)
	got, err := run(t, cloudConfig, node, dynamic(t, options))
	if err != nil {
		t.Fatal(err)
	}
	return got.(types.String).ValueString()
}

// Options may be sets and maps too.
func TestOptionsOfOtherTypes(t *testing.T) {
	t.Parallel()
	path := types.MapValueMust(types.StringType, map[string]attr.Value{"path": types.StringValue("/usr/bin")})
	text := cloudConfigOf(t, driver.Values{"etcd": path, "extra": driver.Values{"set": types.SetValueMust(types.StringType, nil), "map": types.MapValueMust(types.StringType, nil)}})
	for _, want := range []string{`"set": []`, `"map": {}`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// The function writes the same as the package userdata, from all of its input.
func TestUserDataIsThatOfThePackage(t *testing.T) {
	t.Parallel()
	const options = `{"etcd": {"path": "/usr/bin"}, "data_disk": {"device": "/dev/vdb"}, "environment": {"ETCD_LOG_LEVEL": "debug"}, "extra": {"hostname": "a", "tls": null}}`
	var plain map[string]any
	must.Succeed(t, json.Unmarshal([]byte(options), &plain))
	o, _, err := userdata.Parse(plain)
	must.Succeed(t, err)
	want, err := userdata.CloudConfig(userdata.Node{Environment: map[string]string{"ETCD_NAME": "a"}, JoinScriptBase64Gzip: "H4sI", Format: 1}, o)
	must.Succeed(t, err)
	given, err := driver.FromJSON(options)
	must.Succeed(t, err)
	if got := cloudConfigOf(t, given); got != want {
		t.Errorf("gave %s\nwant %s", got, want)
	}
}
