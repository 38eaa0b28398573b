// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"encoding/json"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// userData is a function that writes the user data of a machine. Unlike a [pure] one it
// checks the options that are known while others are not.
type userData struct {
	pure
	write func(userdata.Node, userdata.Options) (string, error)
}

var cloudConfig = userData{pure{name: "cloud_config", definition: defineUserData("User data for cloud-init",
	"Returns complete user data for cloud-init on Debian and Ubuntu",
	"a cloud-config. Lists such as `runcmd`, `write_files` and `packages` are appended to those of the result, other keys are added",
	"its gzip in base64, for an argument such as `user_data_base64`",
)}, userdata.CloudConfig}

var ignition = userData{pure{name: "ignition", definition: defineUserData("User data for Ignition",
	"Returns a complete configuration for Ignition on Fedora CoreOS and Flatcar",
	"an Ignition configuration with its `ignition.version`, which is merged",
	"a configuration that contains the compressed one. Use it as without the option",
)}, userdata.Ignition}

// defineUserData returns the definition of a function for a kind of user data. about begins
// its description, extra says what the option extra takes, and compress what that one gives.
func defineUserData(summary, about, extra, compress string) function.Definition {
	return function.Definition{
		Summary: summary,
		MarkdownDescription: about + " for the machine of one member: the environment, the join script, the systemd service, " +
			"and what `options` adds. The result depends on the arguments only, so the user data of an existing machine does not change with another version of the provider. " +
			"See [cloud-init and Ignition](../guides/cloud-init-and-ignition.md).\n\n" +
			"| option | value |\n|---|---|\n" +
			"| `etcd` | `{ url, sha256 }`: a release archive, which the machine downloads over HTTPS and checks. Or `{ path }`: the directory in which the image has `etcd`. The image then needs `curl` too. " +
			"Default: the official release of the node's `version`, from GitHub, which the machine checks against its `SHA256SUMS`. |\n" +
			"| `tls` | `{ ca, cert, key }`: each the text of a PEM file or the path of a file on the machine. etcd then requires client certificates. |\n" +
			"| `peer_tls` | The same for peers. Default: `tls`. |\n" +
			"| `data_dir` | Data directory. Default: `/var/lib/etcd`. |\n" +
			"| `data_disk` | `{ device, filesystem }`: a block device that is mounted at `data_dir`. It is formatted only if it has no file system. Allowed file systems: `ext4` (default), `xfs` (if the image has `mkfs.xfs`). |\n" +
			"| `environment` | More `ETCD_*` variables, such as `ETCD_QUOTA_BACKEND_BYTES`. The variables of the node are refused. " +
			"Default: `ETCD_AUTO_COMPACTION_RETENTION = \"1h\"`, and etcd's check of its store at each start. See [Defaults](../guides/cloud-init-and-ignition.md#defaults). |\n" +
			"| `extra` | More user data, as an object: " + extra + ". |\n" +
			"| `compress` | `true` for a smaller result: " + compress + ". The bytes depend on the arguments only, unlike those of `base64gzip`. Default: `false`. See [Size](../guides/cloud-init-and-ignition.md#size). |\n\n" +
			"!> **Warning** A private key in `options` is part of the machine's user data, of the state, and of what the metadata service of the machine returns. Prefer a path.",
		Parameters: []function.Parameter{
			function.ObjectParameter{
				Name: "node", AttributeTypes: nodeTypes, AllowUnknownValues: true,
				MarkdownDescription: "Node of an [`etcd_cluster`](../resources/cluster.md), such as `etcd_cluster.this.node[\"a\"]`.",
			},
			function.DynamicParameter{
				Name: "options", AllowUnknownValues: true,
				MarkdownDescription: "An object with the options in the table.",
			},
		},
		Return: function.StringReturn{},
	}
}

// Run implements [function.Function].
func (f userData) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var argument types.Object
	var given types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &argument, &given); resp.Error != nil {
		return
	}
	options, known, err := parseOptions(given)
	n, versionKnown := nodeOf(argument)
	if err == nil && versionKnown {
		err = options.CheckVersion(n.Version)
	}
	if err != nil {
		resp.Error = refused(err)
		return
	}
	if !known || attribute.SomeUnknown(argument) {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	if t := environment.Problem(n.Environment); t != nil {
		resp.Error = badArgument(0, *t)
		return
	}
	written, err := f.write(n, options)
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, written)
}

// parseOptions checks the options as far as they are known. Its error is a
// message for the user.
func parseOptions(given types.Dynamic) (o userdata.Options, known bool, err error) {
	switch v := plainOf(given).(type) {
	case userdata.Unknown:
		return o, false, nil
	case map[string]any:
		o, known, err = userdata.Parse(v)
		if t := environment.Problem(o.Environment); err == nil && t != nil {
			err = badArgument(1, *t)
		}
		return o, known, err
	}
	return o, false, &userdata.OptionError{Path: "options", Problem: userdata.NotObject}
}

// nodeTypes are the attributes of a node that user data depends on. Terraform
// drops the others when it converts the argument.
var nodeTypes = map[string]attr.Type{
	"environment": node.Types["environment"], "join_script_base64gzip": node.Types["join_script_base64gzip"], "version": node.Types["version"],
	"start": node.Types["start"],
}

// nodeOf returns what is known of a node, and whether its version is.
func nodeOf(o types.Object) (n userdata.Node, versionKnown bool) {
	variables, _ := o.Attributes()["environment"].(types.Map)
	script, _ := o.Attributes()["join_script_base64gzip"].(types.String)
	version, _ := o.Attributes()["version"].(types.String)
	start, _ := o.Attributes()["start"].(types.String)
	s, _ := node.StartOf(start) // without a format, it is refused
	return userdata.Node{
		Environment: attribute.TextsByKey(variables), JoinScriptBase64Gzip: script.ValueString(), Version: version.ValueString(), Format: s.Format,
	}, !o.IsUnknown() && !version.IsUnknown()
}

// wrongOption returns the error for an option. It omits what may be secret.
func wrongOption(e *userdata.OptionError) text.Message {
	format, facts := "Option %s %s.", []any{e.Path, text.Verbatim(e.Problem)}
	if e.Value != "" {
		format, facts = format+" The value is %q.", append(facts, e.Value)
	}
	if len(e.Allowed) > 0 {
		format, facts = format+" Allowed: %s.", append(facts, e.Allowed)
	}
	return text.New("Invalid user data option", format, facts...)
}

// plainOf returns a value as maps, lists, texts, numbers and booleans, nil for
// null, and [userdata.Unknown] for an unknown value.
func plainOf(v attr.Value) any {
	if d, ok := v.(types.Dynamic); ok && !d.IsUnknown() {
		v = d.UnderlyingValue()
	}
	switch {
	case v == nil || v.IsNull():
		return nil
	case v.IsUnknown():
		return userdata.Unknown{}
	}
	switch v := v.(type) {
	case types.String:
		return v.ValueString()
	case types.Bool:
		return v.ValueBool()
	case types.Int64:
		return v.ValueInt64()
	case types.Number:
		// All digits, as jsonencode has them: cloud-init reads 1e-07 as a text.
		if i, accuracy := v.ValueBigFloat().Int64(); accuracy == big.Exact {
			return i
		}
		return json.Number(v.ValueBigFloat().Text('f', -1))
	case types.Object:
		return plainMap(v.Attributes())
	case types.Map:
		return plainMap(v.Elements())
	case interface{ Elements() []attr.Value }: // a list, set or tuple
		out := make([]any, len(v.Elements()))
		for i, element := range v.Elements() {
			out[i] = plainOf(element)
		}
		return out
	}
	return nil
}

func plainMap(m map[string]attr.Value) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[key] = plainOf(v)
	}
	return out
}
