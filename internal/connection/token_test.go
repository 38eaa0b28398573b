// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"net"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Test that a request is repeated if a healthy member lags behind and does not
// know the new token yet, but not without limit.
func TestTokenThatIsStillOnItsWay(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := connect(t, t.Context(), Settings{}.WithoutCredentials(), "http://"+l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	renewals := 0
	c.token = &sharedToken{authenticate: func(context.Context) (string, error) { renewals++; return "new", nil }}
	after := func(denials int) error {
		return c.Do(t.Context(), func(context.Context) error {
			if denials--; denials >= 0 {
				return rpctypes.ErrInvalidAuthToken
			}
			return nil
		})
	}
	if err := after(4); err != nil || renewals != 1 {
		t.Errorf("%v after %d renewals, want none after one", err, renewals)
	}
	if err := after(1000); !errors.Is(err, rpctypes.ErrInvalidAuthToken) || KindOf(err) != StaleToken {
		t.Errorf("got %v", err)
	}
}
