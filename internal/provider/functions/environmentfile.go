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

func newEnvironmentFile() function.Function {
	return pure{
		name: "environment_file",
		definition: function.Definition{
			Summary: "Variables as a file for systemd and the shell",
			MarkdownDescription: "Returns variables as the content of a file, one per line and sorted by name. systemd's `EnvironmentFile=` and a POSIX shell (`set -a; . file`) both read exactly the " +
				"given values from it. Values are quoted only if they need it, so that `docker run --env-file` reads the others too. A variable with the value null is left out. " +
				"Values with control characters or line breaks (U+0085, U+2028 and U+2029 included) are refused. Allowed in names: letters, digits and `_`.",
			Parameters: []function.Parameter{
				function.MapParameter{
					Name:                "variables",
					ElementType:         types.StringType,
					MarkdownDescription: "Values by name, such as the `environment` of a node of an [`etcd_cluster`](../resources/cluster.md).",
				},
			},
			Return: function.StringReturn{},
		},
		run: environmentFile,
	}
}

func environmentFile(ctx context.Context, arguments function.ArgumentsData) (any, error) {
	var values map[string]types.String
	if err := arguments.Get(ctx, &values); err != nil {
		return nil, err
	}
	variables := map[string]string{}
	for name, value := range values {
		if !value.IsNull() {
			variables[name] = value.ValueString()
		}
	}
	return formatEnvironment(variables)
}

// formatEnvironment writes the variables, one per line. Its error is a message for the user.
func formatEnvironment(variables map[string]string) (string, error) {
	if t := environment.Problem(variables); t != nil {
		return "", errors.New(t.Detail)
	}
	return userdata.EnvironmentFile(variables), nil
}
