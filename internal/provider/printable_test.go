// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

const (
	hostile  = "evil\x1b[2J\u0085\r::error::x\u202e"
	harmless = `evil\x1b[2J\x85 \x3a:error::x\u202e`
)

// talker returns hostile texts in every kind of response of a provider.
type talker struct{ served }

func said() []*tfprotov6.Diagnostic {
	return []*tfprotov6.Diagnostic{{Summary: hostile + "\n" + hostile, Detail: "a\n  b\n\n" + hostile}}
}

func (talker) ReadResource(context.Context, *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{Diagnostics: said()}, nil
}

func (talker) OpenEphemeralResource(context.Context, *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return nil, nil
}

func (talker) CallFunction(context.Context, *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: "a\n" + hostile}}, nil
}

func (talker) ListResource(context.Context, *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	return &tfprotov6.ListResourceServerStream{Results: slices.Values([]tfprotov6.ListResourceResult{{DisplayName: hostile, Diagnostics: said()}})}, nil
}

func (talker) InvokeAction(context.Context, *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	return &tfprotov6.InvokeActionServerStream{Events: slices.Values([]tfprotov6.InvokeActionEvent{
		{Type: tfprotov6.ProgressInvokeActionEventType{Message: hostile}}, {Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: said()}},
	})}, nil
}

func TestPrintable(t *testing.T) {
	p := &printable{served: talker{}}
	check := func(what string, diags []*tfprotov6.Diagnostic) {
		t.Helper()
		if len(diags) != 1 || diags[0].Summary != harmless+" "+harmless || diags[0].Detail != "a\n  b\n\n"+harmless {
			t.Errorf("%s: %+v", what, *diags[0])
		}
	}
	read, _ := p.ReadResource(t.Context(), nil)
	check("a resource", read.Diagnostics)
	if opened, err := p.OpenEphemeralResource(t.Context(), nil); opened != nil || err != nil {
		t.Error(opened, err)
	}
	called, _ := p.CallFunction(t.Context(), nil)
	if called.Error.Text != "a\n"+harmless {
		t.Errorf("a function: %q", called.Error.Text)
	}
	list, _ := p.ListResource(t.Context(), nil)
	for r := range list.Results {
		check("a list", r.Diagnostics)
		if r.DisplayName != harmless {
			t.Errorf("a list: %q", r.DisplayName)
		}
	}
	invoked, _ := p.InvokeAction(t.Context(), nil)
	for e := range invoked.Events {
		switch e := e.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			if e.Message != harmless {
				t.Errorf("progress: %q", e.Message)
			}
		case tfprotov6.CompletedInvokeActionEventType:
			check("an action", e.Diagnostics)
		}
	}
}

// Every response of the provider passes through printable. (The provider has no
// state stores.)
func TestPrintableIsComplete(t *testing.T) {
	if p, ok := Server(&Provider{}).(*printable); !ok || p.served == nil {
		t.Fatal("what is served is not printable")
	}
	own := reflect.TypeFor[*printable]()
	for _, part := range []reflect.Type{reflect.TypeFor[tfprotov6.ProviderServer](), reflect.TypeFor[tfprotov6.ListResourceServer](), reflect.TypeFor[tfprotov6.ActionServer]()} {
		for i := range part.NumMethod() {
			name := part.Method(i).Name
			method, _ := own.MethodByName(name)
			file, _ := runtime.FuncForPC(method.Func.Pointer()).FileLine(method.Func.Pointer())
			if !strings.HasSuffix(file, "printable.go") && name != "StopProvider" { // which shows no text
				t.Errorf("%s is not printable's own (%s)", name, file)
			}
		}
	}
}

type contextKey struct{}

// During a call, its context is the call's: contexts derived from it end with
// the call.
func TestCallContextDuringTheCall(t *testing.T) {
	call, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, 1))
	ctx := newCallContext(call)
	child, stop := context.WithCancel(ctx)
	defer stop()
	if ctx.Err() != nil || child.Value(contextKey{}) != 1 {
		t.Errorf("got %v, %v", ctx.Err(), child.Value(contextKey{}))
	}
	cancel()
	<-child.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
		t.Errorf("got %v and %v", ctx.Err(), child.Err())
	}
}

// After the call, a context derived from it, which the framework keeps, does
// not keep anything of the call alive.
func TestCallContextAfterTheCall(t *testing.T) {
	collected := make(chan struct{})
	child := func() context.Context {
		value := new([1 << 16]byte)
		runtime.AddCleanup(value, func(c chan struct{}) { close(c) }, collected)
		call, end := context.WithCancel(context.WithValue(t.Context(), contextKey{}, value))
		ctx := newCallContext(call)
		child, stop := context.WithCancel(ctx)
		t.Cleanup(stop)
		ctx.over()
		end() // as gRPC does when a call has returned
		return child
	}()
	etcdtest.Until(t, "the value of the call is let go of", func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	})
	if child.Value(contextKey{}) != nil || child.Err() == nil {
		t.Errorf("got %v, %v", child.Value(contextKey{}), child.Err())
	}
}
