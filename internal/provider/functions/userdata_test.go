// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// valueOf returns a value as Terraform passes it to a dynamic parameter.
func valueOf(v any) attr.Value {
	switch v := v.(type) {
	case map[string]any:
		kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
		for key, element := range v {
			values[key] = valueOf(element)
			kinds[key] = values[key].Type(nil) //nolint:staticcheck // no type uses its context
		}
		return types.ObjectValueMust(kinds, values)
	case string:
		return types.StringValue(v)
	case attr.Value:
		return v
	default:
		return types.DynamicNull()
	}
}

func nodeWith(environment map[string]attr.Value, script attr.Value, format int64) attr.Value {
	return versioned(environment, script, format, types.StringNull())
}

func versioned(environment map[string]attr.Value, script attr.Value, format int64, version attr.Value) attr.Value {
	return types.ObjectValueMust(nodeTypes(), map[string]attr.Value{
		"environment": variables(environment), "join_script_base64gzip": script, "version": version,
		"start": types.ObjectValueMust(map[string]attr.Type{"format": types.Int64Type}, map[string]attr.Value{"format": types.Int64Value(format)}),
	})
}

func TestUserData(t *testing.T) {
	t.Parallel()
	name := map[string]attr.Value{"ETCD_NAME": str("a")}
	member := nodeWith(name, str("H4sI"), 1)
	unknownNode := types.ObjectUnknown(nodeTypes())
	image := map[string]any{"path": "/usr/bin"}
	for name, tt := range map[string]struct {
		node    attr.Value
		options any
		unknown bool
		fails   string
		of      int64 // the invalid argument
	}{
		"complete":                          {node: member, options: map[string]any{"etcd": image, "environment": map[string]any{"ETCD_LOG_LEVEL": "debug"}}},
		"a map of options":                  {node: member, options: types.MapValueMust(types.MapType{ElemType: types.StringType}, map[string]attr.Value{"etcd": variables(map[string]attr.Value{"path": str("/usr/bin")})})},
		"a node that is not built":          {node: unknownNode, options: map[string]any{"etcd": image}, unknown: true},
		"a script that is not built":        {node: nodeWith(nil, unknownString, 1), options: map[string]any{"etcd": image}, unknown: true},
		"an official release":               {node: versioned(nil, str("H4sI"), 1, str("3.6.16")), options: map[string]any{}},
		"a version that is not known":       {node: versioned(nil, unknownString, 1, unknownString), options: map[string]any{}, unknown: true},
		"etcd that is not known":            {node: versioned(nil, unknownString, 1, types.StringNull()), options: map[string]any{"etcd": types.DynamicUnknown()}, unknown: true},
		"no etcd and no version":            {node: versioned(nil, unknownString, 1, types.StringNull()), options: map[string]any{}, fails: "Option etcd is missing. The node has no version, so the official release to download is not known. Add the option, or set version of the etcd_cluster", of: 1},
		"unknown options":                   {node: member, options: types.DynamicUnknown(), unknown: true},
		"an unknown option":                 {node: member, options: map[string]any{"etcd": types.DynamicUnknown()}, unknown: true},
		"a wrong key, while all is unknown": {node: unknownNode, options: map[string]any{"etcd": types.DynamicUnknown(), "datadir": unknownString}, fails: "Option datadir does not exist. Allowed: etcd, tls, peer_tls, data_dir, data_disk, environment, extra, compress", of: 1},
		"a variable that 3.7 ignores": {node: versioned(nil, unknownString, 1, str("3.7.3")), options: map[string]any{"etcd": image, "environment": map[string]any{"ETCD_EXPERIMENTAL_MAX_LEARNERS": "2"}},
			fails: "Option environment.ETCD_EXPERIMENTAL_MAX_LEARNERS is ignored by etcd 3.7 and later. Change it while the members run 3.6, which knows both. Allowed: ETCD_MAX_LEARNERS", of: 1},
		"a variable that 3.6 knows":  {node: versioned(nil, unknownString, 1, str("3.6.16")), options: map[string]any{"etcd": image, "environment": map[string]any{"ETCD_EXPERIMENTAL_MAX_LEARNERS": "2"}}, unknown: true},
		"no object":                  {node: member, options: "3.6.16", fails: "Option options must be an object", of: 1},
		"a line break in a variable": {node: member, options: map[string]any{"etcd": image, "environment": map[string]any{"ETCD_A": "x\ny"}}, fails: "The value of ETCD_A holds the character U+000A. User data must not hold control characters and line breaks, because they can end a value there. Remove the character from the argument that sets ETCD_A", of: 1},
		"a line break in the node":   {node: nodeWith(map[string]attr.Value{"ETCD_A": str("x\ny")}, str(""), 1), options: map[string]any{"etcd": image}, fails: "The value of ETCD_A holds the character U+000A. User data must not hold control characters and line breaks, because they can end a value there. Remove the character from the argument that sets ETCD_A", of: 0},
		"a later format":             {node: nodeWith(nil, str(""), userdata.Format+1), options: map[string]any{"etcd": image}, fails: "format of the node is 2, and this version of the provider does not know it. A later version has built the node. Use that version or a later one", of: 0},
		"no certificate": {
			node:    nodeWith(map[string]attr.Value{"ETCD_LISTEN_PEER_URLS": str("https://10.0.0.1:2380")}, str(""), 1),
			options: map[string]any{"etcd": image}, fails: `Option peer_tls is missing. The member listens on https:// URLs, which need a certificate. Add the option, or give the member http:// URLs in members of the etcd_cluster`, of: 1,
		},
		"certificates for nothing": {
			node:    nodeWith(map[string]attr.Value{"ETCD_LISTEN_CLIENT_URLS": str("http://10.0.0.1:2379")}, str(""), 1),
			options: map[string]any{"etcd": image, "tls": map[string]any{"ca": "/a", "cert": "/b", "key": "/c"}},
			fails:   `Option tls has no use: the member listens on http:// URLs only. Remove the option, or give the member https:// URLs in members of the etcd_cluster`, of: 1,
		},
	} {
		for _, f := range []userData{cloudConfig, ignition} {
			t.Run(f.name+", "+name, func(t *testing.T) {
				options := valueOf(tt.options)
				if d, ok := options.(types.Dynamic); ok {
					options = d
				} else {
					options = types.DynamicValue(options)
				}
				got, err := run(t, f, tt.node, options)
				switch {
				case tt.fails != "":
					if err == nil || err.Text != tt.fails || err.FunctionArgument == nil || *err.FunctionArgument != tt.of {
						t.Errorf("failed with %v\nwant %s", err, tt.fails)
					}
				case err != nil || got.IsUnknown() != tt.unknown || got.IsNull():
					t.Errorf("gave %s, %v", got, err)
				}
			})
		}
	}
}

// A number keeps its digits, and an empty value its kind.
func TestExtraAsGiven(t *testing.T) {
	t.Parallel()
	number := func(text string) attr.Value {
		f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		must.Succeed(t, err)
		return types.NumberValue(f)
	}
	options := map[string]any{"etcd": map[string]any{"path": "/usr/bin"}, "extra": map[string]any{
		"bootcmd": types.TupleValueMust(nil, nil), "growpart": map[string]any{}, "hostname": str(""), "small": number("1e-7"), "large": number("18446744073709551615"), "power": number("1e21"),
		"set": types.SetValueMust(types.StringType, nil), "minus": number("-0.5"), "map": types.MapValueMust(types.StringType, nil),
	}}
	got, err := run(t, cloudConfig, nodeWith(nil, str("H4sI"), 1), types.DynamicValue(valueOf(options)))
	must.Succeed(t, err)
	for _, want := range []string{
		`"bootcmd": []`, `"growpart": {}`, `"hostname": ""`, `"small": 0.0000001`, `"large": 18446744073709551615`, `"power": 1000000000000000000000`, `"set": []`, `"minus": -0.5`, `"map": {}`,
	} {
		if text := got.(types.String).ValueString(); !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// The function writes the same as the package userdata, from all of its input.
func TestUserDataIsThatOfThePackage(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"etcd": map[string]any{"path": "/usr/bin"}, "data_disk": map[string]any{"device": "/dev/vdb"}, "environment": map[string]any{"ETCD_LOG_LEVEL": "debug"},
		"extra": map[string]any{"hostname": "a", "tls": nil},
	}
	o, _, err := userdata.Parse(given)
	must.Succeed(t, err)
	want, err := userdata.CloudConfig(userdata.Node{Environment: map[string]string{"ETCD_NAME": "a"}, JoinScriptBase64Gzip: "H4sI", Format: 1}, o)
	must.Succeed(t, err)
	got, ferr := run(t, cloudConfig, nodeWith(map[string]attr.Value{"ETCD_NAME": str("a")}, str("H4sI"), 1), types.DynamicValue(valueOf(given)))
	if ferr != nil || !got.Equal(str(want)) {
		t.Errorf("gave %s, %v\nwant %s", got, ferr, want)
	}
}
