// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// mark is part of every secret that the test gives to the provider. Its first
// characters may be shown of a discovery token.
const mark = "0123456789abcdefMaRkOfASecretUa7"

// marks are the forms in which the end of the mark may appear.
var marks = func() []string {
	end := mark[len(mark)-len("MaRkOfASecretUa7"):]
	out := []string{end}
	for before := range 3 { // the three positions of a text in base64
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + end + "xx"))
		out = append(out, encoded[4:len(end)])
	}
	return out
}()

func shows(text string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) })
}

// forms returns the marked values for an argument, by name. secret is whether
// any value of the argument is a secret.
func forms(dead, file string, secret bool) map[string]string {
	pem := "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\n" + strings.Repeat(mark+mark+"\n", 4) + "-----END PRIVATE KEY-----\n"
	out := map[string]string{
		"PEM":                        pem,
		"PEM without its first dash": pem[1:],
		"PEM in one line":            strings.ReplaceAll(pem, "\n", " "),
		"PEM with escapes":           strings.ReplaceAll(pem, "\n", `\n`),
		"base64":                     base64.StdEncoding.EncodeToString([]byte(pem)),
		"signed URL":                 "http://" + dead + "/b.db?X-Amz-Signature=" + mark,
		"signed URL with a comma":    "https://" + dead + "/b.db?a=1,2;b=" + mark + "&c=3",
		"URL with a password":        "http://root:" + mark + "@" + dead,
		"password with a comma":      "https://root:a,b;" + mark + "@" + dead,
		"file":                       file,
	}
	if secret {
		out["bare"] = mark
		out["bare path"] = "/" + mark
		out["bare URL"] = "http://" + dead + "/" + mark
	}
	return out
}

// bare reports whether only the value of a secret argument may not be shown in this
// form. A key of a map is a name.
func bare(form string) bool { return strings.HasPrefix(form, "bare") }

// isSecret reports whether any value of an argument may be a secret.
func isSecret(a *tfprotov6.SchemaAttribute) bool {
	return a.Sensitive || a.WriteOnly || secretName.MatchString(a.Name)
}

var secretName = regexp.MustCompile(`(^|_)(key|password|secret|token)$`)

// argument is one argument of the provider, at a path below a block.
type argument struct {
	path   []string
	typ    tftypes.Type
	secret bool
}

// arguments returns the arguments in a schema that a configuration can set.
func arguments(t *testing.T, attributes []*tfprotov6.SchemaAttribute, above ...string) (out []argument) {
	t.Helper()
	for _, a := range attributes {
		path := append(slices.Clone(above), a.Name)
		switch {
		case !a.Required && !a.Optional:
		case a.NestedType == nil:
			out = append(out, argument{path, a.Type, isSecret(a)})
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			out = append(out, arguments(t, a.NestedType.Attributes, path...)...)
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap:
			out = append(out, arguments(t, a.NestedType.Attributes, append(path, "a")...)...)
		default:
			t.Fatalf("%s: the walk does not know this kind of nesting", strings.Join(path, "."))
		}
	}
	return out
}

// placed returns the values of a type that contain the text, as an element and,
// if keys is set, as a key.
func placed(typ tftypes.Type, text string, keys bool) (out []any) {
	within := func(typ tftypes.Type, text string, wrap func(any) any) {
		for _, v := range placed(typ, text, keys) {
			out = append(out, wrap(v))
		}
	}
	inList := func(v any) any { return []any{v} }
	switch typ := typ.(type) {
	case tftypes.List:
		within(typ.ElementType, text, inList)
	case tftypes.Set:
		within(typ.ElementType, text, inList)
	case tftypes.Map:
		within(typ.ElementType, text, func(v any) any { return map[string]any{"a": v} })
		if keys {
			within(typ.ElementType, "b", func(v any) any { return map[string]any{text: v} })
		}
	case tftypes.Object:
		for name, t := range typ.AttributeTypes {
			within(t, text, func(v any) any { return map[string]any{name: v} })
		}
	default:
		switch {
		case typ.Is(tftypes.String):
			out = []any{text}
		case typ.Is(tftypes.DynamicPseudoType):
			out = []any{text, map[string]any{"a": text}, map[string]any{text: "a"}}
		}
	}
	return out // nothing for a number and a boolean
}

// with returns the object with another value at a path.
func with(object map[string]any, path []string, value any) map[string]any {
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := object[path[0]].(map[string]any)
		value = with(inner, path[1:], value)
	}
	object[path[0]] = value
	return object
}

// bases returns the configurations of testdata/bases.json, which are valid, by the kind and
// the name of a type. They lead as far into the provider as is possible without a server. dead
// is an address where no server listens, dir a directory.
func bases(t *testing.T, dead, dir string, pki *etcdtest.PKI) (out map[string]map[string]any) {
	t.Helper()
	pki.Client("root")
	text := strings.NewReplacer("DEAD", dead, "DIR", dir, "MARK", mark, "PKI", filepath.Dir(pki.CAFile)).Replace(must.Read(t, "testdata/bases.json"))
	must.Succeed(t, json.Unmarshal([]byte(text), &out))
	return out
}

// TestNoSecretIsShown gives marked secrets to every argument of the provider and
// of each of its types, and looks for the marks in every diagnostic, every log
// line and every value that is not sensitive. It walks the schemas, so that a new
// argument is covered by itself.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	dead := fmt.Sprintf("127.0.0.1:%d", etcdtest.ReservePort(t))
	dir := t.TempDir()
	file := filepath.Join(dir, "pem")
	must.Write(t, file, forms(dead, "", false)["PEM"])
	base := bases(t, dead, dir, etcdtest.NewPKI(t))
	all, block := kinds(t, base)
	var running sync.WaitGroup
	for _, k := range all {
		given := base[k.name]
		if s := newSession(t, block, base["provider"]); !k.imports {
			if k.run(s, given); !s.valid {
				t.Errorf("bases needs a valid configuration of %s: %q", k.name, s.texts)
			}
		}
		for _, a := range k.arguments {
			for form, text := range forms(dead, file, a.secret) {
				for _, v := range placed(a.typ, text, !bare(form)) {
					config := with(given, a.path, v)
					running.Go(func() {
						s := newSession(t, block, base["provider"])
						k.run(s, config)
						for _, leak := range s.leaks(strings.Join(a.path, ".")) {
							t.Errorf("%s: %s, %s: %s", k.name, strings.Join(a.path, "."), form, leak)
						}
					})
				}
			}
		}
	}
	running.Wait()
}
