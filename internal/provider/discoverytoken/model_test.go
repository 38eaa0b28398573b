// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Models are equal if every attribute is. The test also covers attributes that
// are added later.
func TestModelEqual(t *testing.T) {
	strings := types.StringType
	object := map[string]attr.Type{"a": strings}
	other := map[reflect.Type]attr.Value{
		reflect.TypeFor[types.String](): types.StringValue("other"),
		reflect.TypeFor[types.Number](): number(7),
		reflect.TypeFor[types.Bool]():   types.BoolValue(true),
		reflect.TypeFor[types.List]():   types.ListUnknown(strings),
		reflect.TypeFor[types.Map]():    types.MapUnknown(strings),
		reflect.TypeFor[types.Object](): types.ObjectUnknown(object),
	}
	null := func() *model {
		return &model{
			AdvertisedEndpoints: types.ListNull(strings), Members: types.ListNull(strings),
			Environment: types.MapNull(strings), MachineAccess: types.ObjectNull(object), Bootstrap: types.ObjectNull(object),
		}
	}
	if !null().equal(null()) {
		t.Error("a model differs from itself")
	}
	typ := reflect.TypeFor[model]()
	for i := range typ.NumField() {
		value, ok := other[typ.Field(i).Type]
		if !ok {
			t.Fatalf("no value for %s", typ.Field(i).Name)
		}
		changed := null()
		reflect.ValueOf(changed).Elem().Field(i).Set(reflect.ValueOf(value))
		if changed.equal(null()) || null().equal(changed) {
			t.Errorf("%s counts for nothing", typ.Field(i).Name)
		}
	}
}
