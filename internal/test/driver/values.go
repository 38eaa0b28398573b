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

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// lookup returns what a reference stands for.
type lookup func(Ref) (tftypes.Value, error)

// Build makes a value of a type from a Go value without references. Where any type is
// allowed, it is of the type of the Go value.
func Build(typ tftypes.Type, value any) (tftypes.Value, error) { return build(typ, value, nil) }

// build makes a value of a type from a Go value.
func build(typ tftypes.Type, value any, look lookup) (tftypes.Value, error) {
	switch v := value.(type) {
	case nil:
		return tftypes.NewValue(typ, nil), nil
	case Unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case Ref:
		found, err := look(v)
		if err != nil {
			return found, err
		}
		if found, err = convert(found, typ); err != nil {
			err = fmt.Errorf("%s.%s: %w", v.Resource, v.Attribute, err)
		}
		return found, err
	case JSON:
		found, err := look(Ref(v))
		if err == nil && !found.IsFullyKnown() {
			return build(typ, Unknown{}, look)
		}
		return tftypes.NewValue(typ, string(encode(found))), err
	}
	if typ.Is(tftypes.DynamicPseudoType) {
		typ = typeOfValue(value)
	}
	items := spread(value)
	if items == nil {
		text, err := json.Marshal(value)
		if err != nil {
			return tftypes.Value{}, err
		}
		//nolint:staticcheck // There is no other way from JSON to a value of a type.
		return tftypes.ValueFromJSON(text, typ)
	}
	out := map[string]tftypes.Value{}
	object, _ := typ.(tftypes.Object)
	for name, t := range object.AttributeTypes {
		out[name] = tftypes.NewValue(t, nil)
	}
	for name, item := range items {
		t := element(typ, name)
		if t == nil {
			return tftypes.Value{}, fmt.Errorf("unsupported argument %s", name)
		}
		v, err := build(t, item, look)
		if err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return join(typ, out), nil
}

// typeOfValue is the type of an expression with this value.
func typeOfValue(value any) tftypes.Type {
	types := map[string]tftypes.Type{}
	for name, item := range spread(value) {
		types[name] = typeOfValue(item)
	}
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map:
		return tftypes.Object{AttributeTypes: types}
	case reflect.Int:
		return tftypes.Number
	default:
		return tftypes.String
	}
}

// convert makes a value of a type: objects may lose attributes.
func convert(v tftypes.Value, typ tftypes.Type) (tftypes.Value, error) {
	switch {
	case !v.IsKnown():
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case v.IsNull():
		return tftypes.NewValue(typ, nil), nil
	case v.Type().Equal(typ):
		return v, nil
	}
	have, out := parts(v), map[string]tftypes.Value{}
	if o, ok := typ.(tftypes.Object); ok && v.Type().Is(tftypes.Object{}) {
		for name := range have {
			if o.AttributeTypes[name] == nil {
				delete(have, name)
			}
		}
		for name := range o.AttributeTypes {
			if _, ok := have[name]; !ok {
				return v, fmt.Errorf("attribute %s is required", name)
			}
		}
	} else if len(have) == 0 || element(typ, "") == nil || element(v.Type(), "") == nil || typ.Is(tftypes.Map{}) != v.Type().Is(tftypes.Map{}) {
		return v, fmt.Errorf("it is a %s, not a %s", v.Type(), typ)
	}
	for name, part := range have {
		var err error
		if out[name], err = convert(part, element(typ, name)); err != nil {
			return v, err
		}
	}
	return join(typ, out), nil
}

// encode is jsonencode of a known value. It is also how core stores it.
func encode(v tftypes.Value) []byte {
	text, err := json.Marshal(plain(v))
	if err != nil {
		panic(err) // it is made of what JSON can represent
	}
	return text
}

func plain(v tftypes.Value) any {
	var text string
	var truth bool
	var number *big.Float
	switch {
	case v.IsNull():
		return nil
	case v.As(&text) == nil:
		return text
	case v.As(&truth) == nil:
		return truth
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

// spread are the parts of a slice or a map by key, nil for anything else.
func spread(value any) map[string]any {
	r, items := reflect.ValueOf(value), map[string]any{}
	switch r.Kind() {
	case reflect.Slice:
		for i := range r.Len() {
			items[strconv.Itoa(i)] = r.Index(i).Interface()
		}
	case reflect.Map:
		for _, k := range r.MapKeys() {
			items[k.String()] = r.MapIndex(k).Interface()
		}
	default:
		return nil
	}
	return items
}

// element is the type of a part of a collection, nil if there is no such part.
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

// refs are the references in values.
func refs(value any) (out []Ref) {
	switch v := value.(type) {
	case Ref:
		return []Ref{v}
	case JSON:
		return []Ref{Ref(v)}
	}
	for _, item := range spread(value) {
		out = append(out, refs(item)...)
	}
	return out
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
		if v.IsKnown() {
			v = parts(v)[name]
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

// proposed is the state that core proposes (objchange.ProposedNew): the
// configuration, and the prior values of computed attributes that are null in it.
func proposed(attributes []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	before, now := parts(prior), parts(config)
	for _, a := range attributes {
		was, ok := before[a.Name]
		switch {
		case !ok:
		case a.Computed && now[a.Name].IsNull():
			now[a.Name] = was
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			now[a.Name] = proposed(a.NestedType.Attributes, was, now[a.Name])
		case a.NestedType != nil && a.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSet && len(parts(now[a.Name])) > 0:
			items, old := parts(now[a.Name]), parts(was)
			for key, item := range items {
				items[key] = proposed(a.NestedType.Attributes, old[key], item)
			}
			now[a.Name] = join(now[a.Name].Type(), items)
		}
	}
	return join(config.Type(), now)
}

// unasked returns where a plan has neither what is configured nor what was before
// (objchange.AssertPlanValid). What is computed and not configured is the provider's.
func unasked(attributes []*tfprotov6.SchemaAttribute, prior, config, planned tftypes.Value, path string) string {
	was, given, got := parts(prior), parts(config), parts(planned)
	for _, a := range attributes {
		before, asked, now := was[a.Name], given[a.Name], got[a.Name]
		nested := a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle
		switch at := path + "." + a.Name; {
		case now.Equal(asked), now.Equal(before) && !before.IsNull() && !asked.IsNull(), asked.IsNull() && a.Computed:
		case nested && asked.IsKnown() && !asked.IsNull() && now.IsKnown() && !now.IsNull():
			if problem := unasked(a.NestedType.Attributes, before, asked, now, at); problem != "" {
				return problem
			}
		default:
			return fmt.Sprintf("%s is configured as %s, and planned as %s", at, asked, now)
		}
	}
	return ""
}

// incompatible returns where a value does not keep what was planned
// (objchange.AssertObjectCompatible): only the unknown may change.
func incompatible(planned, actual tftypes.Value, path string) string {
	want, got := parts(planned), parts(actual)
	switch {
	case !planned.IsKnown() || planned.Equal(actual):
		return ""
	case planned.Type().Is(tftypes.Set{}) && !planned.IsFullyKnown():
		return "" // its elements cannot be told apart
	case len(want) == 0 || len(want) != len(got):
		return fmt.Sprintf("%s was planned as %s, and is %s", path, planned, actual)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if problem := incompatible(want[key], got[key], path+"."+key); problem != "" {
			return problem
		}
	}
	return ""
}
