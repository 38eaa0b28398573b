// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

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
	node := argument(t, function.ObjectParameter{AttributeTypes: nodeTypes}, `{"environment": {"ETCD_NAME": "a"}, "join_script_base64gzip": "H4sI", "start": {"format": 1}}`)
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
