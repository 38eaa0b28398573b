// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// wantOthers fails the test unless err names these keys.
func wantOthers(t *testing.T, err error, more int, keys ...string) {
	t.Helper()
	var others *OthersError
	if !errors.As(err, &others) || !reflect.DeepEqual(others.Keys, keys) || others.More != more {
		t.Errorf("got %v, want that %q and %d more are not the token's", err, keys, more)
	}
}

// Test that a token is not created among the data of another program, and that
// keys that appear below it later are not deleted.
func TestV3LeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{Version: version})
			client, r, ctx := c.Client(t), newV3(t, settings(c.Endpoints()...), "/registry"), etcdtest.WaitContext(t)
			pods := map[string]string{
				"/registry/pods/kube-system/dns": "a pod", "/registry/pods/a": "another", "/registry/pods": "a sibling", "/registry/pods0": "a neighbour",
			}
			for key, value := range pods {
				put(t, client, key, value)
			}
			_, err := r.Create(ctx, "pods", 3)
			wantOthers(t, err, 0, "/registry/pods/a", "/registry/pods/kube-system/dns")
			wantOthers(t, r.Delete(ctx, "pods"), 0, "/registry/pods/a", "/registry/pods/kube-system/dns")
			if got := dump(t, client); !reflect.DeepEqual(got, pods) {
				t.Errorf("keys: got %v, want %v", got, pods)
			}

			// Keys below the token that are not registrations belong to others.
			mustCreate(t, r, token3, 300)
			base := "/registry/" + token3 + "/"
			for i := range 250 { // more than one transaction can delete
				put(t, client, fmt.Sprintf("%smembers/%x", base, 0xfffffffffffff000+uint64(i)), "m=http://10.0.0.1:2380")
			}
			left := map[string]string{
				base + "_config/other": "", base + "members/00ff": "", base + "members/ff/deeper": "",
				base + "members/FF": "", base + "members/": "", base + "members/zz": "", base + "more": "",
			}
			for key := range left {
				left[key] = "m=http://10.0.0.1:2380"
				put(t, client, key, left[key])
			}
			left[base+"members/a"] = "hexadecimal by chance"
			put(t, client, base+"members/a", left[base+"members/a"])
			wantOthers(t, r.Delete(ctx, token3), 3, base+"_config/other", base+"members/", base+"members/00ff", base+"members/FF", base+"members/a")
			maps.Copy(left, pods)
			if got := dump(t, client); !reflect.DeepEqual(got, left) {
				t.Errorf("keys: got %v, want %v", got, left)
			}
		})
	}
}

// Test that all registrations of real members belong to the token.
func TestDeleteLeavesNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	v3, v2 := newV3(t, settings(registry.Endpoints()...), DefaultPrefix), NewV2(settings(registry.Endpoints()...), DefaultPrefix, &connection.Pool{})
	mustCreate(t, v3, token3, 2)
	mustCreate(t, v2, token3, 2)
	one := etcdtest.NewProcess(t, etcdtest.Options{Name: "one"})
	one.Env["ETCD_DISCOVERY_TOKEN"], one.Env["ETCD_DISCOVERY_ENDPOINTS"] = token3, registry.Endpoints()[0]
	other := v2Founder(t, V2URL(registry.Endpoints()[0], DefaultPrefix, token3), "other", etcdtest.V35)
	one.Start()
	other.Start()
	for name, r := range map[string]Registry{"v3": v3, "v2": v2} {
		etcdtest.Until(t, "a member registers with "+name, func() bool { return len(mustStatus(t, r, token3).Members) == 1 })
		if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The place is empty again.
		mustCreate(t, r, token3, 1)
		if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := dump(t, registry.Client(t)); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if got := request(t, http.MethodGet, V2URL(registry.Endpoints()[0], DefaultPrefix, token3), ""); !strings.Contains(got, `"errorCode":100`) {
		t.Errorf("left: %s", got)
	}
}

// Test the same with v2, which has directories and hidden keys.
func TestV2LeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.WithV2() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{Version: version, V2: true})
			r, ctx := NewV2(settings(c.Endpoints()...), "/registry", &connection.Pool{}), etcdtest.WaitContext(t)
			at := func(key string) string { return c.Endpoints()[0] + "/v2/keys" + key }
			there := func(key string) bool {
				return !strings.Contains(request(t, http.MethodGet, at(key), ""), `"errorCode":100`)
			}
			others := []string{"/registry/pods/a", "/registry/pods/sub/b", "/registry/hidden/_x", "/registry/file"}
			for _, key := range others {
				request(t, http.MethodPut, at(key), "value=theirs")
			}
			for token, named := range map[string]string{"pods": "/registry/pods/a", "hidden": "/registry/hidden", "file": "/registry/file"} {
				_, err := r.Create(ctx, token, 3)
				if !is[*OthersError](err) || !strings.Contains(err.Error(), named) {
					t.Errorf("create %s: got %v, want that %s is not the token's", token, err, named)
				}
				wantType[*OthersError](t, r.Delete(ctx, token))
			}
			for _, key := range others {
				if !there(key) {
					t.Errorf("%s is gone", key)
				}
			}

			mustCreate(t, r, token3, 3)
			base := "/registry/" + token3
			left := []string{base + "/dd/ee", base + "/00ff", base + "/_secret", base + "/_config/other"}
			for _, key := range append(left, base+"/ff") {
				request(t, http.MethodPut, at(key), "value=m=http://10.0.0.1:2380")
			}
			err := r.Delete(ctx, token3)
			wantType[*OthersError](t, err)
			for _, key := range []string{base + "/dd", base + "/00ff"} {
				if !strings.Contains(err.Error(), key) {
					t.Errorf("%v does not name %s", err, key)
				}
			}
			for _, key := range left {
				if !there(key) {
					t.Errorf("%s is gone", key)
				}
			}
			if there(base+"/ff") || there(base+"/_config/size") {
				t.Error("the token is still there")
			}
		})
	}
}

// Test that no delete in the product affects more than one key: none uses a
// range, a prefix or a whole directory. Created keys are deleted individually,
// here and elsewhere (claims, ownership records, turns).
func TestNoDeleteTakesMoreThanOneKey(t *testing.T) {
	deletes := 0
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Delete" && f.Sel.Name != "OpDelete" {
				return true
			}
			deletes++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"WithPrefix", "WithRange", "WithFromKey", "Recursive"}, id.Name) {
						t.Errorf("%s: a delete with %s", name, id.Name)
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	if err != nil || deletes < 8 {
		t.Errorf("%d deletes found, %v", deletes, err)
	}
}

// Test an answer with fewer results than requested.
func TestOccupantsThatAreNotInTheAnswer(t *testing.T) {
	t.Parallel()
	if err := occupied(&clientv3.TxnResponse{}); err != nil {
		t.Errorf("got %v", err)
	}
}
