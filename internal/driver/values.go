// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// lookup returns the value of an attribute that is referred to.
type lookup func(Ref) (tftypes.Value, error)

// evaluate makes an object from values. What is missing is null.
func evaluate(typ tftypes.Object, values Values, look lookup) (tftypes.Value, error) {
	for name := range values {
		if _, ok := typ.AttributeTypes[name]; !ok {
			return tftypes.Value{}, fmt.Errorf("unsupported argument %s", name)
		}
	}
	v, err := build(typ, map[string]any(values), look)
	return canonical(v), err
}

func build(typ tftypes.Type, value any, look lookup) (tftypes.Value, error) {
	switch v := value.(type) {
	case nil:
		return tftypes.NewValue(typ, nil), nil
	case Unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case Ref:
		found, err := look(v)
		if err != nil {
			return tftypes.Value{}, err
		}
		return convert(typ, found)
	case Values:
		value = map[string]any(v)
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Slice:
		items := make([]any, r.Len())
		for i := range items {
			items[i] = r.Index(i).Interface()
		}
		return assemble(typ, items, nil, func(t tftypes.Type, x any) (tftypes.Value, error) { return build(t, x, look) })
	case reflect.Map:
		if r.IsNil() {
			break
		}
		items := map[string]any{}
		for _, k := range r.MapKeys() {
			items[k.String()] = r.MapIndex(k).Interface()
		}
		return assemble(typ, nil, items, func(t tftypes.Type, x any) (tftypes.Value, error) { return build(t, x, look) })
	}
	text, err := json.Marshal(value)
	if err != nil {
		return tftypes.Value{}, err
	}
	//nolint:staticcheck // There is no other way from JSON to a value of a type.
	return tftypes.ValueFromJSON(text, typ)
}

// assemble makes a collection of typ from the parts of another.
func assemble[T any](typ tftypes.Type, list []T, fields map[string]T, part func(tftypes.Type, T) (tftypes.Value, error)) (tftypes.Value, error) {
	var element tftypes.Type
	object, isObject := typ.(tftypes.Object)
	switch t := typ.(type) {
	case tftypes.List:
		element = t.ElementType
	case tftypes.Set:
		element = t.ElementType
	case tftypes.Map:
		element = t.ElementType
	}
	if isMap := typ.Is(tftypes.Map{}); element == nil && !isObject || (fields == nil) == (isObject || isMap) {
		return tftypes.Value{}, fmt.Errorf("a value that is not a %s", typ)
	}
	var parts []tftypes.Value
	for _, x := range list {
		v, err := part(element, x)
		if err != nil {
			return tftypes.Value{}, err
		}
		parts = append(parts, v)
	}
	if fields == nil {
		return tftypes.NewValue(typ, parts), nil
	}
	out := map[string]tftypes.Value{}
	for name, t := range object.AttributeTypes {
		out[name] = tftypes.NewValue(t, nil)
	}
	for name, x := range fields {
		t := element
		if isObject {
			if t = object.AttributeTypes[name]; t == nil {
				return tftypes.Value{}, fmt.Errorf("unsupported attribute %s", name)
			}
		}
		v, err := part(t, x)
		if err != nil {
			return tftypes.Value{}, err
		}
		out[name] = v
	}
	return tftypes.NewValue(typ, out), nil
}

// convert makes a value of another type from a value that is referred to. Anything
// can become a text, as with jsonencode.
func convert(typ tftypes.Type, v tftypes.Value) (tftypes.Value, error) {
	switch {
	case v.Type().Equal(typ):
		return v, nil
	case typ.Is(tftypes.String) && !v.IsFullyKnown(), !v.IsKnown():
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case v.IsNull():
		return tftypes.NewValue(typ, nil), nil
	case typ.Is(tftypes.String):
		return tftypes.NewValue(typ, v.String()), nil
	}
	var list []tftypes.Value
	var fields map[string]tftypes.Value
	if v.As(&fields) != nil && v.As(&list) != nil {
		return tftypes.Value{}, fmt.Errorf("a %s where a %s is expected", v.Type(), typ)
	}
	return assemble(typ, list, fields, convert)
}

// canonical sorts sets, as core does, and drops what a set has twice.
func canonical(v tftypes.Value) tftypes.Value {
	if !v.IsKnown() || v.IsNull() {
		return v
	}
	var list []tftypes.Value
	var fields map[string]tftypes.Value
	switch {
	case v.As(&fields) == nil:
		out := map[string]tftypes.Value{}
		for name, x := range fields {
			out[name] = canonical(x)
		}
		return tftypes.NewValue(v.Type(), out)
	case v.As(&list) == nil:
		out := make([]tftypes.Value, len(list))
		for i, x := range list {
			out[i] = canonical(x)
		}
		if v.Type().Is(tftypes.Set{}) {
			slices.SortFunc(out, func(a, b tftypes.Value) int { return strings.Compare(a.String(), b.String()) })
			out = slices.CompactFunc(out, func(a, b tftypes.Value) bool { return a.IsFullyKnown() && a.Equal(b) })
		}
		return tftypes.NewValue(v.Type(), out)
	}
	return v
}

// refs are the references in values, in a fixed order.
func refs(value any) (out []Ref) {
	switch v := value.(type) {
	case nil:
		return nil
	case Ref:
		return []Ref{v}
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Slice:
		for i := range r.Len() {
			out = append(out, refs(r.Index(i).Interface())...)
		}
	case reflect.Map:
		for _, k := range slices.SortedFunc(slices.Values(r.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			out = append(out, refs(r.MapIndex(k).Interface())...)
		}
	}
	return out
}
