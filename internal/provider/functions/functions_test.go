// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// run calls a function as the framework does.
func run(t testing.TB, f function.Function, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	t.Helper()
	var definition function.DefinitionResponse
	f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
	result, ferr := definition.Definition.Return.NewResultData(t.Context())
	if ferr != nil {
		t.Fatal(ferr)
	}
	resp := function.RunResponse{Result: result}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	return resp.Result.Value(), resp.Error
}

func str(s string) attr.Value { return types.StringValue(s) }

func set(urls ...attr.Value) attr.Value { return types.SetValueMust(types.StringType, urls) }

func setOf(urls ...string) attr.Value {
	var values []attr.Value
	for _, u := range urls {
		values = append(values, str(u))
	}
	return set(values...)
}

func members(m map[string]attr.Value) attr.Value { return types.MapValueMust(peerURLs, m) }

func variables(m map[string]attr.Value) attr.Value { return types.MapValueMust(types.StringType, m) }

var (
	unknownString  = types.StringUnknown()
	unknownMembers = types.MapUnknown(peerURLs)
)

func TestFunctions(t *testing.T) {
	const noURL = "The URL is empty. Expected a scheme, a host and a port, such as https://10.0.0.1:2380"
	args := func(of ...attr.Value) []attr.Value { return of }
	member := func(name string, urls attr.Value) []attr.Value {
		return args(members(map[string]attr.Value{name: urls}))
	}
	tests := map[string]struct {
		f         function.Function
		arguments []attr.Value
		want      attr.Value
		fails     string
	}{
		"initial_cluster": {
			f:         initialCluster,
			arguments: args(members(map[string]attr.Value{"b": setOf("https://10.1.0.2:2380", "https://10.0.0.2:2380/"), "a": setOf("https://Infra1.example:2380")})),
			want:      str("a=https://Infra1.example:2380,b=https://10.0.0.2:2380,b=https://10.1.0.2:2380"),
		},
		"initial_cluster, an unknown URL": {f: initialCluster, arguments: member("a", set(unknownString)), want: unknownString},
		"initial_cluster, unknown":        {f: initialCluster, arguments: args(unknownMembers), want: unknownString},
		"initial_cluster, nobody":         {f: initialCluster, arguments: args(members(nil)), fails: "The initial cluster is empty. Expected name=url entries with commas between them"},
		"initial_cluster, a null set":     {f: initialCluster, arguments: member("a", types.SetNull(types.StringType)), fails: `Entry "a": Expected name=url, such as infra1=https://10.0.0.1:2380`},
		"initial_cluster, a null URL":     {f: initialCluster, arguments: member("a", set(types.StringNull())), fails: "Member a has a peer URL that is null. Give a URL, or leave the member out"},
		"initial_cluster, a URL that is two": {
			f: initialCluster, arguments: member("a", setOf("http://h:1,b=http://h:2")),
			fails: `Entry "a=http://h:1,b=http://h:2": "http://h:1,b=http://h:2" is not one URL. Give each URL as a list element of its own`,
		},
		"initial_cluster, a name that no machine starts with": {
			f: initialCluster, arguments: member("$(id)", setOf("http://h:1")),
			fails: `Entry "$(id)": The member name "$(id)" contains a character other than letters (a to z, A to Z), digits and . _ : @ % + ~ -. The join script and the data directory take no other. Choose another name`,
		},
		"parse_initial_cluster": {
			f: parseInitialCluster, arguments: args(str("b=https://10.0.0.2:2380, a=https://10.0.0.1:2380,b=https://10.1.0.2:2380")),
			want: members(map[string]attr.Value{"b": setOf("https://10.0.0.2:2380", "https://10.1.0.2:2380"), "a": setOf("https://10.0.0.1:2380")}),
		},
		"parse_initial_cluster, unknown":    {f: parseInitialCluster, arguments: args(unknownString), want: unknownMembers},
		"parse_initial_cluster, a password": {f: parseInitialCluster, arguments: args(str("a=http://root:swordfish@h:1")), fails: `Entry "***@h:1": http://***@h:1 holds a user name or password. Leave it out`},

		"environment_file": {
			f: environmentFile,
			arguments: args(variables(map[string]attr.Value{
				"ETCD_NAME": str("a"), "ETCD_INITIAL_CLUSTER": str("a=https://10.0.0.1:2380,b=https://[2001:db8::1]:2380"), "ETCD_EMPTY": str(""),
				"ETCD_LEFT_OUT": types.StringNull(), "_quoted": str("a \"b\" $c `d` \\e 'f' #é"),
			})),
			want: str("ETCD_EMPTY=\nETCD_INITIAL_CLUSTER=\"a=https://10.0.0.1:2380,b=https://[2001:db8::1]:2380\"\nETCD_NAME=a\n" +
				"_quoted=\"a \\\"b\\\" \\$c \\`d\\` \\\\e 'f' #é\"\n"),
		},
		"environment_file, nothing":          {f: environmentFile, arguments: args(variables(nil)), want: str("")},
		"environment_file, an unknown value": {f: environmentFile, arguments: args(variables(map[string]attr.Value{"A": unknownString})), want: unknownString},
		"environment_file, unknown":          {f: environmentFile, arguments: args(types.MapUnknown(types.StringType)), want: unknownString},
		"environment_file, a bad name": {
			f: environmentFile, arguments: args(variables(map[string]attr.Value{"1A": str("")})),
			fails: `"1A" cannot be the name of a variable: expected letters, digits and "_", and no digit first, such as ETCD_NAME`,
		},
		"environment_file, a bad value": {
			f: environmentFile, arguments: args(variables(map[string]attr.Value{"A": str("swordfish\r")})),
			fails: "The value of A holds the character U+000D. User data must not hold control characters and line breaks, because they can end a value there. Remove the character from the argument that sets A",
		},

		"quorum":            {f: quorum, arguments: args(types.Int64Value(4)), want: types.Int64Value(3)},
		"quorum of unknown": {f: quorum, arguments: args(types.Int64Unknown()), want: types.Int64Unknown()},
		"quorum of nobody":  {f: quorum, arguments: args(types.Int64Value(0)), fails: "A cluster has at least one voter; 0 was given"},

		// From a real server.
		"member_id":                 {f: memberID, arguments: args(setOf("http://localhost:23812", "http://127.0.0.1:23802/"), str("tok-1")), want: str("6085adc6bb1f46fc")},
		"member_id, unknown URLs":   {f: memberID, arguments: args(types.SetUnknown(types.StringType), str("tok-1")), want: unknownString},
		"member_id, an unknown URL": {f: memberID, arguments: args(set(unknownString), str("tok-1")), want: unknownString},
		"member_id, unknown token":  {f: memberID, arguments: args(setOf("http://h:1"), unknownString), want: unknownString},
		"member_id, no URL":         {f: memberID, arguments: args(setOf(), str("t")), fails: noURL},
		"member_id, a null URL":     {f: memberID, arguments: args(set(types.StringNull()), str("t")), fails: noURL},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, tt.f, tt.arguments...)
			switch {
			case tt.fails != "":
				if err == nil || err.Text != tt.fails || err.FunctionArgument == nil {
					t.Errorf("failed with %v\nwant %s", err, tt.fails)
				}
			case err != nil || !got.Equal(tt.want):
				t.Errorf("gave %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// Terraform refuses some values before a function runs: null if a parameter
// does not allow it, a fraction of a voter.
func TestNoParameterTakesNull(t *testing.T) {
	for _, f := range All() {
		_, ofUserData := f().(userData)
		var definition function.DefinitionResponse
		f().Definition(t.Context(), function.DefinitionRequest{}, &definition)
		for _, p := range definition.Definition.Parameters {
			// A wrong option must be refused in the first plan.
			if p.GetAllowNullValue() || p.GetAllowUnknownValues() != ofUserData {
				t.Errorf("%s takes null or unknown", p.GetName())
			}
			if p.GetMarkdownDescription() == "" {
				t.Errorf("%s is not described", p.GetName())
			}
		}
		if definition.Definition.Summary == "" || definition.Definition.MarkdownDescription == "" {
			t.Error("a function is not described")
		}
	}
}

// parse_initial_cluster and initial_cluster are inverse: initial_cluster writes
// what parse_initial_cluster reads, and reading that again changes nothing.
func FuzzInitialCluster(f *testing.F) {
	for _, s := range []string{"a=http://h:1", "a=http://h:1/,b=HTTP://h:2,a=http://H:3", "a", "=,=", " a = http://h:1 ", "é=http://[::1]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := run(t, parseInitialCluster, str(text))
		if err != nil {
			return
		}
		written, err := run(t, initialCluster, parsed)
		if err != nil && strings.Contains(err.Error(), "contains a character other than letters") {
			return // valid for an existing member, but not for a new one
		}
		if err != nil {
			t.Fatalf("%q was read as %s, which cannot be written: %v", text, parsed, err)
		}
		again, err := run(t, parseInitialCluster, written)
		if err != nil {
			t.Fatalf("%q was written as %s, which cannot be read: %v", text, written, err)
		}
		if twice, err := run(t, initialCluster, again); err != nil || !twice.Equal(written) {
			t.Fatalf("%q: %s, then %s, %v", text, written, twice, err)
		}
		if !strings.ContainsAny(text, "/ \t") && strings.ToLower(text) == text && !again.Equal(parsed) {
			t.Fatalf("%q: %s, then %s", text, parsed, again)
		}
	})
}
