// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Test that the summary names the failed action and the member, and that the
// detail contains the cause.
func TestEveryActionHasASummary(t *testing.T) {
	seen := map[string]reconfigure.Action{}
	for _, action := range []reconfigure.Action{
		reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionReplace, reconfigure.ActionUpdate, reconfigure.ActionRead,
		reconfigure.ActionRecord, reconfigure.ActionImport, reconfigure.ActionReach, reconfigure.ActionForget, reconfigure.ActionSave,
	} {
		got := Explain(action, "d", errors.New("the cause"))
		if before, ok := seen[got.Summary]; ok {
			t.Errorf("%s and %s have the same summary", before, action)
		}
		seen[got.Summary] = action
		if words := strings.Fields(got.Summary); len(words) < 4 || words[0] != "Cannot" || words[len(words)-1] != "d" || !strings.Contains(got.Detail, "the cause") {
			t.Errorf("%s: %q, %q", action, got.Summary, got.Detail)
		}
		mustFollowPattern(t, got)
	}
}

// Test that a refusal names the requested action: promotion, even if it is part
// of a join that calls it an addition.
func TestRefusalAgreesWithTheAction(t *testing.T) {
	for _, action := range []reconfigure.Action{reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionUpdate} {
		refused := []reconfigure.Action{action}
		if action == reconfigure.ActionPromote {
			refused = append(refused, reconfigure.ActionAdd)
		}
		for _, r := range refused {
			err := &reconfigure.Refusal{Action: r, Name: "d", Decision: membership.Decision{Code: membership.NotMember}}
			if got, want := Explain(action, "d", err).Summary, Explain(action, "d", errors.New("x")).Summary; got != want {
				t.Errorf("%s, refused as %s: %q, want %q", action, r, got, want)
			}
		}
	}
}
