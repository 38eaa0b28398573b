// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A deviation is one thing that a server answers wrongly each time: an error of a
// method, or a field of its answers.
type deviation struct{ method, what string }

// unstated are the fields of answers that the suite does not state, and why.
var unstated = map[string]string{
	"Downgrade version":        "the leader may lower it at any moment",
	"Snapshot remaining_bytes": "clients do not see it",
	"Status dbSize":            "the size of the database is not simulated",
	"Status dbSizeInUse":       "the size of the database is not simulated",
	"Watch watch_id":           "clients do not see it",
	"Watch fragment":           "clients do not see it",
	"Watch cancel_reason":      "clients do not see it next to a compaction",
}

// The suite finds every deviation of the simulated server from itself.
func TestContractFindsDeviations(t *testing.T) {
	t.Parallel()
	run := func(g group, after func(c Call, answer proto.Message, err error) error) (failed error) {
		synctest.Test(t, func(t *testing.T) {
			failed = simulate(t, &Network{After: func(_ context.Context, c Call, answer proto.Message, err error) error {
				return after(c, answer, err)
			}}, "3.6.16", g, false)
		})
		return failed
	}
	known := map[deviation][]group{}
	for _, g := range groups {
		seen := map[deviation]bool{}
		if err := run(g, func(c Call, answer proto.Message, err error) error {
			note(seen, c.Method, answer, err)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for d := range seen {
			known[d] = append(known[d], g)
		}
	}
	for d, groups := range known {
		method := d.method[strings.LastIndexByte(d.method, '/')+1:]
		found := slices.ContainsFunc(groups, func(g group) bool { return run(g, d.plant) != nil })
		if reason := unstated[method+" "+d.what]; found == (reason != "") {
			t.Errorf("%s %s: found %t, reason why not: %q", method, d.what, found, reason)
		}
	}
	t.Log(len(known), "deviations")
}

// note adds what can be wrong in an answer.
func note(known map[deviation]bool, method string, answer proto.Message, err error) {
	if answer == nil && err == nil {
		return // HTTP
	}
	switch {
	case err != nil && strings.HasPrefix(rpctypes.ErrorDesc(err), "etcdserver: "):
		known[deviation{method, rpctypes.ErrorDesc(err)}] = true
	case err == nil:
		walk(answer.ProtoReflect(), "", func(path string, _ protoreflect.Message, _ protoreflect.FieldDescriptor) {
			known[deviation{method, path}] = true
		})
	}
}

// plant makes an answer wrong.
func (d deviation) plant(c Call, answer proto.Message, err error) error {
	switch {
	case c.Method != d.method:
	case err != nil && rpctypes.ErrorDesc(err) == d.what:
		return status.Error(codes.Unknown, "planted")
	case err == nil:
		walk(answer.ProtoReflect(), "", func(path string, m protoreflect.Message, f protoreflect.FieldDescriptor) {
			if path == d.what {
				m.Set(f, wrong(m.Get(f)))
			}
		})
	}
	return err
}

func wrong(v protoreflect.Value) protoreflect.Value {
	switch v := v.Interface().(type) {
	case int64:
		return protoreflect.ValueOfInt64(v + 1)
	case uint64:
		return protoreflect.ValueOfUint64(v + 1)
	case bool:
		return protoreflect.ValueOfBool(!v)
	case string:
		return protoreflect.ValueOfString(v + "!")
	case []byte:
		return protoreflect.ValueOfBytes([]byte(string(v) + "!"))
	case protoreflect.EnumNumber:
		return protoreflect.ValueOfEnum(1 - v)
	}
	panic(fmt.Sprintf("%T", v.Interface()))
}

// walk calls f for each field of a message that is one value, and of the messages in it.
func walk(m protoreflect.Message, path string, f func(path string, m protoreflect.Message, field protoreflect.FieldDescriptor)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		at := strings.TrimPrefix(path+"."+string(field.Name()), ".")
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range m.Get(field).List().Len() {
				walk(m.Get(field).List().Get(i).Message(), at, f)
			}
		case field.IsList():
		case field.Message() != nil:
			if m.Has(field) {
				walk(m.Get(field).Message(), at, f)
			}
		case field.ContainingOneof() == nil:
			f(at, m, field)
		}
	}
}
