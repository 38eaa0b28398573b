// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"iter"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/clustermember"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// served is the set of interfaces that the framework serves.
type served interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// Server returns the framework's server for p, with every text made printable.
//
// The framework keeps a cancel function, and with it the context, of every call
// until the provider is stopped: registerContext in
// terraform-plugin-framework/internal/proto6server/serve.go:24 of v1.19.0.
// There is no upstream issue for this. It keeps about 60 kB for each resource,
// so each call gets a [callContext].
func Server(p *Provider) tfprotov6.ProviderServer {
	all, _ := providerserver.NewProtocol6(p)().(served) // a test holds that it is
	return &printable{all, p.table.Load}
}

// printable is the last step for every text on its way to a terminal or a log:
// every diagnostic, the error of a function, the progress of an action and the
// name of a listed resource. It removes characters that cannot be printed,
// whatever the origin of the text, see [text.Lines].
type printable struct {
	served
	// table returns the table of the current walk, nil before there is one.
	table func() *backend.Table
}

// note notes what a state has of a member or of an etcd_cluster.
func (p *printable) note(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) {
	if p.table() == nil || req == nil || req.RawState == nil {
		return
	}
	if e, ok := clustermember.NoteOf(ctx, req.TypeName, req.RawState); ok {
		p.table().Note(e)
	}
	if c, ok := cluster.NoteOf(req.TypeName, req.RawState.JSON); ok {
		p.table().EnterCluster(c)
	}
}

// shown makes a call with a context of its own, and cleans the texts of the response.
func shown[Q, R any](ctx context.Context, req Q, call func(context.Context, Q) (R, error)) (R, error) {
	own := newCallContext(ctx)
	defer own.over()
	resp, err := call(own, req)
	clean(reflect.ValueOf(resp))
	return resp, err
}

// clean cleans the displayed fields of a response, which is a pointer to a
// struct or nil.
func clean(answer reflect.Value) {
	if answer.Kind() != reflect.Pointer || answer.IsNil() {
		return
	}
	fields := answer.Elem()
	if field := fields.FieldByName("Diagnostics"); field.IsValid() {
		if diags, ok := field.Interface().([]*tfprotov6.Diagnostic); ok {
			cleanAll(diags)
		}
	}
	if field := fields.FieldByName("Error"); field.IsValid() {
		if failed, ok := field.Interface().(*tfprotov6.FunctionError); ok && failed != nil {
			failed.Text = text.Lines(failed.Text)
		}
	}
}

func cleanAll(diags []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		d.Summary, d.Detail = text.Clean(d.Summary), text.Lines(d.Detail)
	}
}

// GetMetadata implements [tfprotov6.ProviderServer].
func (p *printable) GetMetadata(ctx context.Context, req *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return shown(ctx, req, p.served.GetMetadata)
}

// GetProviderSchema implements [tfprotov6.ProviderServer].
func (p *printable) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return shown(ctx, req, p.served.GetProviderSchema)
}

// GetResourceIdentitySchemas implements [tfprotov6.ProviderServer].
func (p *printable) GetResourceIdentitySchemas(ctx context.Context, req *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return shown(ctx, req, p.served.GetResourceIdentitySchemas)
}

// ValidateProviderConfig implements [tfprotov6.ProviderServer].
func (p *printable) ValidateProviderConfig(ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateProviderConfig)
}

// ConfigureProvider implements [tfprotov6.ProviderServer].
func (p *printable) ConfigureProvider(ctx context.Context, req *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return shown(ctx, req, p.served.ConfigureProvider)
}

// ValidateResourceConfig implements [tfprotov6.ResourceServer].
func (p *printable) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateResourceConfig)
}

// UpgradeResourceState implements [tfprotov6.ResourceServer].
func (p *printable) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	p.note(ctx, req)
	return shown(ctx, req, p.served.UpgradeResourceState)
}

// UpgradeResourceIdentity implements [tfprotov6.ResourceServer].
func (p *printable) UpgradeResourceIdentity(ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return shown(ctx, req, p.served.UpgradeResourceIdentity)
}

// ReadResource implements [tfprotov6.ResourceServer].
func (p *printable) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return shown(ctx, req, p.served.ReadResource)
}

// PlanResourceChange implements [tfprotov6.ResourceServer].
func (p *printable) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return shown(ctx, req, p.served.PlanResourceChange)
}

// ApplyResourceChange implements [tfprotov6.ResourceServer].
func (p *printable) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return shown(ctx, req, p.served.ApplyResourceChange)
}

// ImportResourceState implements [tfprotov6.ResourceServer].
func (p *printable) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return shown(ctx, req, p.served.ImportResourceState)
}

// MoveResourceState implements [tfprotov6.ResourceServer].
func (p *printable) MoveResourceState(ctx context.Context, req *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	return shown(ctx, req, p.served.MoveResourceState)
}

// GenerateResourceConfig implements [tfprotov6.ResourceServer].
func (p *printable) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return shown(ctx, req, p.served.GenerateResourceConfig)
}

// ValidateDataResourceConfig implements [tfprotov6.DataSourceServer].
func (p *printable) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateDataResourceConfig)
}

// ReadDataSource implements [tfprotov6.DataSourceServer].
func (p *printable) ReadDataSource(ctx context.Context, req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return shown(ctx, req, p.served.ReadDataSource)
}

// CallFunction implements [tfprotov6.FunctionServer].
func (p *printable) CallFunction(ctx context.Context, req *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return shown(ctx, req, p.served.CallFunction)
}

// GetFunctions implements [tfprotov6.FunctionServer].
func (p *printable) GetFunctions(ctx context.Context, req *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return shown(ctx, req, p.served.GetFunctions)
}

// ValidateEphemeralResourceConfig implements [tfprotov6.EphemeralResourceServer].
func (p *printable) ValidateEphemeralResourceConfig(ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateEphemeralResourceConfig)
}

// OpenEphemeralResource implements [tfprotov6.EphemeralResourceServer].
func (p *printable) OpenEphemeralResource(ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return shown(ctx, req, p.served.OpenEphemeralResource)
}

// RenewEphemeralResource implements [tfprotov6.EphemeralResourceServer].
func (p *printable) RenewEphemeralResource(ctx context.Context, req *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return shown(ctx, req, p.served.RenewEphemeralResource)
}

// CloseEphemeralResource implements [tfprotov6.EphemeralResourceServer].
func (p *printable) CloseEphemeralResource(ctx context.Context, req *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return shown(ctx, req, p.served.CloseEphemeralResource)
}

// ValidateListResourceConfig implements [tfprotov6.ListResourceServer].
func (p *printable) ValidateListResourceConfig(ctx context.Context, req *tfprotov6.ValidateListResourceConfigRequest) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateListResourceConfig)
}

// ListResource implements [tfprotov6.ListResourceServer].
func (p *printable) ListResource(ctx context.Context, req *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	stream, err := p.served.ListResource(ctx, req)
	if stream != nil {
		stream.Results = each(stream.Results, func(r *tfprotov6.ListResourceResult) {
			r.DisplayName = text.Clean(r.DisplayName)
			cleanAll(r.Diagnostics)
		})
	}
	return stream, err
}

// ValidateActionConfig implements [tfprotov6.ActionServer].
func (p *printable) ValidateActionConfig(ctx context.Context, req *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	return shown(ctx, req, p.served.ValidateActionConfig)
}

// PlanAction implements [tfprotov6.ActionServer].
func (p *printable) PlanAction(ctx context.Context, req *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	return shown(ctx, req, p.served.PlanAction)
}

// InvokeAction implements [tfprotov6.ActionServer].
func (p *printable) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	stream, err := p.served.InvokeAction(ctx, req)
	if stream != nil {
		stream.Events = each(stream.Events, func(e *tfprotov6.InvokeActionEvent) {
			switch t := e.Type.(type) {
			case tfprotov6.ProgressInvokeActionEventType:
				t.Message = text.Clean(t.Message)
				e.Type = t
			case tfprotov6.CompletedInvokeActionEventType:
				cleanAll(t.Diagnostics)
			}
		})
	}
	return stream, err
}

// each returns the parts of a stream, cleaned. A failed call has none.
func each[T any](parts iter.Seq[T], clean func(*T)) iter.Seq[T] {
	if parts == nil {
		return nil
	}
	return func(yield func(T) bool) {
		for part := range parts {
			if clean(&part); !yield(part) {
				return
			}
		}
	}
}

// callContext is the context of one call. When the call is over, it releases
// all that belongs to the call (its stream, its loggers), even if a reference
// to the callContext remains.
type callContext struct {
	call atomic.Pointer[context.Context]
}

func newCallContext(ctx context.Context) *callContext {
	c := &callContext{}
	c.call.Store(&ctx)
	return c
}

// ended is the context of every call that is over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// over ends the context and releases the call. Contexts derived from it end
// with the call's own context, which gRPC ends when the call has returned.
func (c *callContext) over() { c.call.Store(&ended) }

// Deadline implements [context.Context].
func (c *callContext) Deadline() (time.Time, bool) { return (*c.call.Load()).Deadline() }

// Done implements [context.Context].
func (c *callContext) Done() <-chan struct{} { return (*c.call.Load()).Done() }

// Err implements [context.Context].
func (c *callContext) Err() error { return (*c.call.Load()).Err() }

// Value implements [context.Context].
func (c *callContext) Value(key any) any { return (*c.call.Load()).Value(key) }
