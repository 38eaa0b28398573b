// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Test every answer of a [Registry] against an independent implementation of
// the rule: a cluster is unformed only if the answer shows fewer members of the
// token than any size requires.
func TestJudge(t *testing.T) {
	failures := []error{nil, ErrNotFound, ErrNoToken, &connection.Unreachable{}, &connection.Error{Kind: connection.PermissionDenied}, &UnsureError{Err: errors.New("no")}, &BadSizeError{Value: "x"}, errors.New("other")}
	for _, err := range failures {
		for size := range 5 {
			for members := range 6 {
				for least := range 5 {
					s := Status{Size: size, Members: make([]Member, members)}
					shown := err == nil || is[*BadSizeError](err)
					full := err == nil && size > 0 && members >= size
					want := Unknown
					if full {
						want = Formed
					}
					if shown && !full && members < least {
						want = Unformed
					}
					if got := Judge(s, err, least); got != want {
						t.Errorf("%d of %d, least %d, %v: got %v, want %v", members, size, least, err, got, want)
					}
				}
			}
		}
	}
	if Verdict(0) != Unknown {
		t.Error("the zero value is evidence")
	}
}
