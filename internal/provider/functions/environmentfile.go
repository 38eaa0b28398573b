// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

type environmentFile struct{}

func newEnvironmentFile() function.Function { return environmentFile{} }

// Metadata implements [function.Function].
func (environmentFile) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "environment_file"
}

// Definition implements [function.Function].
func (environmentFile) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Variables as a file for systemd and the shell",
		MarkdownDescription: "Writes variables, one a line and sorted by name, so that systemd's `EnvironmentFile=` and a POSIX shell (`set -a; . file`) both read exactly " +
			"the values that were given. Values that need it are put in double quotes, with backslashes where both readers take them; the others stay plain, so that " +
			"`docker run --env-file` reads them too. A variable whose value is null is left out. Values with control characters or line breaks " +
			"(U+0085, U+2028 and U+2029 as well) are refused. A name is made of letters, digits and `_`.",
		Parameters: []function.Parameter{
			function.MapParameter{
				Name:                "variables",
				ElementType:         types.StringType,
				MarkdownDescription: "Values by name, such as the `environment` of an [`etcd_member_config`](../resources/member_config.md).",
			},
		},
		Return: function.StringReturn{},
	}
}

// Run implements [function.Function].
func (environmentFile) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var given types.Map
	if resp.Error = req.Arguments.Get(ctx, &given); resp.Error != nil {
		return
	}
	ok, ferr := known(ctx, given)
	if resp.Error = ferr; ferr != nil {
		return
	}
	if !ok {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	var values map[string]types.String
	if resp.Error = function.FuncErrorFromDiags(ctx, given.ElementsAs(ctx, &values, false)); resp.Error != nil {
		return
	}
	variables := map[string]string{}
	for name, value := range values {
		if !value.IsNull() {
			variables[name] = value.ValueString()
		}
	}
	text, err := formatEnvironment(variables)
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, text)
}

// formatEnvironment writes the variables, a line each. The error is worded.
func formatEnvironment(variables map[string]string) (string, error) {
	if t := environment.Problem(variables); t != nil {
		return "", errors.New(t.Detail)
	}
	return userdata.EnvironmentFile(variables), nil
}
