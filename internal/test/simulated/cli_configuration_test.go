// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
)

// configuration is the configuration of a site in JSON.
func configuration(s *site) string {
	types := map[string]any{}
	for _, r := range s.ws.Resources {
		name, key, instance := strings.Cut(strings.TrimSuffix(r.Name, `"]`), `["`)
		ofType, ok := types[r.Type].(map[string]any)
		if !ok {
			ofType = map[string]any{}
			types[r.Type] = ofType
		}
		block, ok := ofType[name].(map[string]any)
		if !ok {
			block = map[string]any{}
			ofType[name] = block
		}
		values, _ := expression(r.Values).(map[string]any)
		if instance {
			text, err := json.Marshal(values)
			s.must(err, json.Unmarshal(ofKey(text, key), &values))
			keys, _ := block["for_each"].(string)
			block["for_each"] = fmt.Sprintf(`${toset([%q])}`, key)
			if keys != "" {
				block["for_each"] = strings.Replace(keys, "]", fmt.Sprintf(", %q]", key), 1)
			}
		}
		for argument, v := range values {
			if was, ok := block[argument]; ok && !reflect.DeepEqual(was, v) {
				s.Fatalf("%s of the instances of %s.%s differ by more than their keys: %v and %v",
					argument, r.Type, name, was, v)
			}
			block[argument] = v
		}
		block["depends_on"] = append([]string{}, r.After...)
		block["lifecycle"] = map[string]any{
			"create_before_destroy": r.CreateBeforeDestroy, "replace_triggered_by": triggers(r, key),
		}
	}
	source := func(name string) any { return map[string]any{"source": sourceOf + name} }
	moved, imports := []any{}, []any{}
	for _, m := range s.ws.Moved {
		moved = append(moved, map[string]any{"from": m.From, "to": m.To})
	}
	for _, i := range s.ws.Imports {
		imports = append(imports, map[string]any{"to": i.To, "id": i.ID})
	}
	text, err := json.MarshalIndent(map[string]any{
		"moved": moved, "import": imports,
		"terraform": map[string]any{
			"required_providers": map[string]any{"etcd": source("etcd"), "machine": source("machine")},
		},
		"provider": map[string]any{"etcd": expression(s.ws.Provider)}, "resource": types,
	}, "", "  ")
	s.must(err)
	return string(text)
}

func triggers(r driver.Resource, key string) []string {
	out := []string{}
	for _, ref := range r.ReplacedBy {
		resource := strings.ReplaceAll(ref.Resource, `["`+key+`"]`, "[each.key]")
		out = append(out, strings.TrimSuffix(resource+"."+ref.Attribute, "."))
	}
	return out
}

// ofKey replaces a key by each.key in expressions in JSON.
func ofKey(text []byte, key string) []byte {
	r := strings.NewReplacer(
		`[\"`+key+`\"]`, "[each.key]", ".node."+key, ".node[each.key]", `:"`+key+`"`, `:"${each.key}"`,
	)
	return []byte(r.Replace(string(text)))
}

// expression is a value in JSON syntax.
func expression(value any) any {
	switch v := value.(type) {
	case driver.Ref:
		return "${" + v.Resource + "." + v.Attribute + "}"
	case driver.JSON:
		return "${jsonencode(" + v.Resource + "." + v.Attribute + ")}"
	case driver.Values:
		return expression(map[string]any(v))
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			out[name] = expression(item)
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, expression(item))
		}
		return out
	}
	return value
}
