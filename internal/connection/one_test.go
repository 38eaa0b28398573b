// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dials are the ways to make a connection: for each import path, the names that
// do so, or "*" for the whole package.
var dials = map[string][]string{
	"net":                       {"Dial", "DialIP", "DialTCP", "DialTimeout", "DialUDP", "DialUnix", "Dialer", "FileConn"},
	"net/http":                  {"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Transport"},
	"net/http/httputil":         {"*"},
	"net/rpc":                   {"*"},
	"net/smtp":                  {"*"},
	"net/textproto":             {"Dial"},
	"crypto/tls":                {"Client", "Dial", "DialWithDialer", "Dialer"},
	"log/syslog":                {"*"},
	"os/exec":                   {"*"},
	"syscall":                   {"Connect", "Socket"},
	"golang.org/x/sys/unix":     {"Connect", "Socket"},
	"google.golang.org/grpc":    {"Dial", "DialContext", "NewClient"},
	"go.etcd.io/etcd/client/v2": {"New"},
	"go.etcd.io/etcd/client/v3": {"New", "NewCtxClient", "NewFromURL", "NewFromURLs"},
	"golang.org/x/net":          {"*"},
}

// allowed are the permitted uses. All of them end in open.
var allowed = []string{
	"internal/connection/client.go: clientv3.New", // its dialer is attempts.dialer
	"internal/connection/dial.go: net.Dialer",
	"internal/connection/http.go: clientv2.New",   // its transport is transport
	"internal/connection/http.go: http.Client",    // its transport is transport
	"internal/connection/http.go: http.Transport", // its DialContext is open
}

// Test that every connection of the provider is made by one function, which
// applies the trust rule and the record of what was sent.
func TestOneFunctionMakesAllConnections(t *testing.T) {
	const module = "github.com/terraform-provider-etcd/terraform-provider-etcd"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	seen := map[string]bool{}
	for next := []string{"."}; len(next) > 0; next = next[1:] {
		dir := next[0]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			for use := range usesOf(t, file) {
				found[filepath.ToSlash(name)+": "+use] = true
			}
			for _, spec := range file.Imports {
				if own, ok := strings.CutPrefix(importPath(t, spec), module+"/"); ok {
					next = append(next, own)
				}
			}
		}
	}
	if !seen["internal/discovery"] || !seen["internal/provider/clustermember"] || seen["internal/etcdtest"] {
		t.Errorf("these are not the packages of the provider: %v", slices.Sorted(maps.Keys(seen)))
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, allowed) {
		t.Errorf("connections are made by\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(allowed, "\n  "))
	}
}

func importPath(t *testing.T, spec *ast.ImportSpec) string {
	t.Helper()
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// usesOf returns the uses of dials in a file, by the last element of the import
// path or the local package name.
func usesOf(t *testing.T, file *ast.File) map[string]bool {
	t.Helper()
	uses := map[string]bool{}
	names := map[string][]string{} // the forbidden names of each package
	for _, spec := range file.Imports {
		path := importPath(t, spec)
		for forbidden, list := range dials {
			below := forbidden == "golang.org/x/net" && strings.HasPrefix(path, forbidden+"/")
			if path != forbidden && !below {
				continue
			}
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if list[0] == "*" || name == "." {
				uses[name+".*"] = true
			}
			names[name] = list
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(names[x.Name], s.Sel.Name) {
				uses[x.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	return uses
}
