// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package functions holds the provider's functions. They are pure: the same
// arguments give the same result, and nobody is asked.
package functions

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// All returns the functions, for the provider to serve.
func All() []func() function.Function {
	return []func() function.Function{
		newInitialCluster, newParseInitialCluster, newEnvironmentFile, newQuorum, newMemberID,
	}
}

// known reports whether nothing within the value is unknown. Terraform does not
// call a function before all is known; another caller may.
func known(ctx context.Context, v attr.Value) (bool, *function.FuncError) {
	raw, err := v.ToTerraformValue(ctx)
	if err != nil {
		return false, function.NewFuncError(err.Error())
	}
	return raw.IsFullyKnown(), nil
}

// refused words an error about the first argument.
func refused(err error) *function.FuncError {
	var entry *membership.EntryError
	var u *membership.URLError
	words := err.Error()
	switch {
	case errors.As(err, &entry):
		words = text.InitialCluster(entry).Detail
	case errors.As(err, &u):
		words = text.PeerURL(u).Detail
	}
	return function.NewArgumentFuncError(0, words)
}
