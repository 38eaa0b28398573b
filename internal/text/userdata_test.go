// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// Test that each problem of an option says what is expected.
func TestUserDataTexts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, problem := range constants(t, "../userdata", "Problem") {
		plain := UserDataOption(&userdata.OptionError{Path: "tls.key", Problem: userdata.Problem(problem)}).Detail
		if strings.HasSuffix(plain, "is invalid.") {
			t.Errorf("%s has no words", problem)
		}
		b.WriteString(problem + ": " + plain + "\n")
	}
	b.WriteString(UserDataOption(&userdata.OptionError{
		Path: "datadir", Problem: userdata.UnknownOption, Value: "datadir", Allowed: []string{"etcd", "data_dir"},
	}).Error() + "\n" + UserDataFormat(2).Error() + "\n")
	mustBeGolden(t, "userdata.txt", b.String())
}
