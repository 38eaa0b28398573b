// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import "testing"

func TestFunctionTexts(t *testing.T) {
	for _, tt := range []struct{ got, want Message }{
		{NullPeerURL("a"), Message{"Invalid peer URL", "Member a has a peer URL that is null. Give a URL, or leave the member out."}},
		{EnvironmentName("a b"), Message{"Invalid name of a variable", `"a b" cannot be the name of a variable: expected letters, digits and "_", and no digit first, such as ETCD_NAME.`}},
		{EnvironmentValue("A", '\r'), Message{"Invalid value of a variable", "The value of A holds the character U+000D. User data must not hold control characters and line breaks, because they can end a value there. Remove the character from the argument that sets A."}},
		{NoVoters(-1), Message{"Invalid number of voters", "A cluster has at least one voter; -1 was given."}},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %+v\nwant %+v", tt.got, tt.want)
		}
	}
}
