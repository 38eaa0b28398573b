// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package functions implements the provider's functions. They are pure: the
// same arguments give the same result, and they make no requests.
package functions

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// All returns the functions that the provider serves.
func All() (all []func() function.Function) {
	for _, f := range []function.Function{initialCluster, parseInitialCluster, environmentFile, quorum, memberID, cloudConfig, ignition} {
		all = append(all, func() function.Function { return f })
	}
	return all
}

// pure is a function whose result depends only on arguments that are all known.
type pure struct {
	name       string
	definition function.Definition
	// run returns the result. An error is about the first argument, unless it
	// is an error of the framework.
	run func(context.Context, function.ArgumentsData) (any, error)
}

// of returns the run of a function of one argument.
func of[A, R any](f func(A) (R, error)) func(context.Context, function.ArgumentsData) (any, error) {
	return func(ctx context.Context, arguments function.ArgumentsData) (any, error) {
		var argument A
		if err := arguments.Get(ctx, &argument); err != nil {
			return nil, err
		}
		return f(argument)
	}
}

// Metadata implements [function.Function].
func (p pure) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = p.name
}

// Definition implements [function.Function].
func (p pure) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = p.definition
}

// Run implements [function.Function]. The result is unknown until it is set.
func (p pure) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	for i := range p.definition.Parameters {
		var argument attr.Value
		if resp.Error = req.Arguments.GetArgument(ctx, i, &argument); resp.Error != nil {
			return
		}
		if attribute.SomeUnknown(argument) { // Terraform does not call it then; other callers may
			return
		}
	}
	result, err := p.run(ctx, req.Arguments)
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, result)
}

// refused returns the message for an error about the first argument.
func refused(err error) *function.FuncError {
	if own, ok := errors.AsType[*function.FuncError](err); ok {
		return own
	}
	var entry *membership.EntryError
	var u *membership.URLError
	words := err.Error()
	var worded text.Message
	switch {
	case errors.As(err, &worded):
		words = worded.Detail
	case errors.As(err, &entry):
		words = text.InitialCluster(entry).Detail
	case errors.As(err, &u):
		words = text.PeerURL(u).Detail
	}
	return badArgument(0, words)
}

// badArgument returns an error about an argument. The CLI adds a full stop.
func badArgument(position int64, words string) *function.FuncError {
	return function.NewArgumentFuncError(position, strings.TrimSuffix(words, "."))
}
