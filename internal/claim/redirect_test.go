// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
)

// Redirects are not followed, because they would receive the password.
func TestV2Redirect(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL+"/v2/keys/a", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	s := settings([]string{server.URL})
	s.Username, s.Password = "root", "Tr0ub4dor"
	_, _, err := claim.NewV2(s).Get(t.Context(), "/running/a")
	if err == nil || !strings.Contains(err.Error(), "redirects elsewhere") {
		t.Errorf("got %v", err)
	}
	if asked.Load() != 0 {
		t.Error("the other host was asked")
	}
}
