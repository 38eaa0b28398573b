// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// lookup returns what a reference stands for.
type lookup func(Ref) (tftypes.Value, error)

// Build makes an object of a type from arguments without references.
func Build(typ tftypes.Type, values Values) (tftypes.Value, error) {
	return build(typ, values, func(r Ref) (tftypes.Value, error) {
		return tftypes.Value{}, fmt.Errorf("a reference to %s", r.Resource)
	})
}

// build makes a value of a type from a Go value. A collection becomes a text as with
// jsonencode.
func build(typ tftypes.Type, value any, look lookup) (tftypes.Value, error) {
	switch v := value.(type) {
	case nil:
		return tftypes.NewValue(typ, nil), nil
	case Unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case Ref:
		found, err := look(v)
		switch {
		case err != nil || found.Type().Equal(typ) || typ.Is(tftypes.DynamicPseudoType):
			return found, err
		case typ.Is(tftypes.String) && !found.IsFullyKnown():
			return build(typ, Unknown{}, look)
		}
		return build(typ, plain(found), look)
	}
	items := spread(typ, value)
	if items == nil {
		return literal(typ, value)
	}
	out := map[string]tftypes.Value{}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		t := element(typ, name)
		if _, strict := value.(Values); t == nil && strict {
			return tftypes.Value{}, fmt.Errorf("unsupported argument %s", name)
		} else if t == nil {
			continue
		}
		v, err := build(t, items[name], look)
		if err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return canonical(join(typ, out)), nil
}

// spread are the parts of a slice or a map for a collection, nil if it is none.
func spread(typ tftypes.Type, value any) map[string]any {
	r, items := reflect.ValueOf(value), map[string]any{}
	switch {
	case r.Kind() == reflect.Slice && (typ.Is(tftypes.List{}) || typ.Is(tftypes.Set{})):
		for i := range r.Len() {
			items[strconv.Itoa(i)] = r.Index(i).Interface()
		}
	case r.Kind() == reflect.Map && (typ.Is(tftypes.Map{}) || typ.Is(tftypes.Object{})):
		if object, ok := typ.(tftypes.Object); ok {
			for name := range object.AttributeTypes {
				items[name] = nil
			}
		}
		for _, k := range r.MapKeys() {
			items[k.String()] = r.MapIndex(k).Interface()
		}
	default:
		return nil
	}
	return items
}

// element is the type of a part of a collection.
func element(typ tftypes.Type, name string) tftypes.Type {
	switch t := typ.(type) {
	case tftypes.List:
		return t.ElementType
	case tftypes.Set:
		return t.ElementType
	case tftypes.Map:
		return t.ElementType
	case tftypes.Object:
		return t.AttributeTypes[name]
	}
	return nil
}

// literal makes a primitive value, or a text from a collection.
func literal(typ tftypes.Type, value any) (tftypes.Value, error) {
	kind := reflect.TypeOf(value).Kind()
	text, err := json.Marshal(value)
	if err == nil && typ.Is(tftypes.String) && (kind == reflect.Slice || kind == reflect.Map) {
		return tftypes.NewValue(typ, string(text)), nil
	}
	if typ.Is(tftypes.DynamicPseudoType) {
		typ = map[reflect.Kind]tftypes.Type{reflect.String: tftypes.String, reflect.Bool: tftypes.Bool, reflect.Int: tftypes.Number}[kind]
	}
	if err == nil && typ == nil {
		err = fmt.Errorf("a %T for any type is left out", value)
	}
	if err != nil {
		return tftypes.Value{}, err
	}
	//nolint:staticcheck // There is no other way from JSON to a value of a type.
	return tftypes.ValueFromJSON(text, typ)
}

// plain is the reverse of build.
func plain(v tftypes.Value) any {
	var text string
	var flag bool
	var number *big.Float
	switch {
	case !v.IsKnown():
		return Unknown{}
	case v.IsNull():
		return nil
	case v.As(&text) == nil:
		return text
	case v.As(&flag) == nil:
		return flag
	case v.As(&number) == nil:
		return json.Number(number.Text('f', -1))
	}
	items := map[string]any{}
	for name, part := range parts(v) {
		items[name] = plain(part)
	}
	if v.Type().Is(tftypes.Map{}) || v.Type().Is(tftypes.Object{}) {
		return items
	}
	list := make([]any, len(items))
	for i := range list {
		list[i] = items[strconv.Itoa(i)]
	}
	return list
}

// refs are the references in values.
func refs(value any) (out []Ref) {
	if r, ok := value.(Ref); ok {
		return []Ref{r}
	}
	switch r := reflect.ValueOf(value); r.Kind() {
	case reflect.Slice:
		for i := range r.Len() {
			out = append(out, refs(r.Index(i).Interface())...)
		}
	case reflect.Map:
		for _, k := range r.MapKeys() {
			out = append(out, refs(r.MapIndex(k).Interface())...)
		}
	}
	return out
}

// canonical sorts sets, as core does, and drops what a set has twice.
func canonical(v tftypes.Value) tftypes.Value {
	items := parts(v)
	if len(items) == 0 {
		return v
	}
	for name, item := range items {
		items[name] = canonical(item)
	}
	if !v.Type().Is(tftypes.Set{}) {
		return join(v.Type(), items)
	}
	list := slices.SortedFunc(maps.Values(items), func(a, b tftypes.Value) int { return strings.Compare(a.String(), b.String()) })
	return tftypes.NewValue(v.Type(), slices.CompactFunc(list, func(a, b tftypes.Value) bool { return a.IsFullyKnown() && a.Equal(b) }))
}

// parts are the attributes of an object, or the elements of a collection by key.
func parts(v tftypes.Value) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	var list []tftypes.Value
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.As(&out) == nil:
		return maps.Clone(out) // the map belongs to the value
	case v.As(&list) == nil:
		for i, item := range list {
			out[strconv.Itoa(i)] = item
		}
	}
	return out
}

// join is the reverse of parts.
func join(typ tftypes.Type, parts map[string]tftypes.Value) tftypes.Value {
	if typ.Is(tftypes.Map{}) || typ.Is(tftypes.Object{}) {
		return tftypes.NewValue(typ, parts)
	}
	list := make([]tftypes.Value, len(parts))
	for i := range list {
		list[i] = parts[strconv.Itoa(i)]
	}
	return tftypes.NewValue(typ, list)
}

// at descends into objects, maps and lists. Where there is nothing, it returns null.
func at(v tftypes.Value, path []string) tftypes.Value {
	for _, name := range path {
		if !v.IsKnown() {
			break
		}
		var ok bool
		if v, ok = parts(v)[name]; !ok {
			return tftypes.NewValue(tftypes.String, nil)
		}
	}
	return v
}

// Attribute returns the text of an attribute of a value, "" for null, or
// "(unknown)"; what is no string is in the syntax of tftypes.
func Attribute(v tftypes.Value, path ...string) string {
	v = at(v, path)
	var text string
	switch {
	case !v.IsKnown():
		return "(unknown)"
	case v.IsNull() || v.As(&text) == nil:
		return text
	}
	return v.String()
}
