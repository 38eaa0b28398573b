// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package report adds the messages of package text to Terraform's diagnostics.
package report

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Error adds an error.
func Error(to *diag.Diagnostics, t text.Message) { to.AddError(t.Summary, t.Detail) }

// Warn adds a warning.
func Warn(to *diag.Diagnostics, t text.Message) { to.AddWarning(t.Summary, t.Detail) }

// ErrorAt adds an error about an attribute.
func ErrorAt(to *diag.Diagnostics, at path.Path, t text.Message) {
	to.AddAttributeError(at, t.Summary, t.Detail)
}

// WarnAt adds a warning about an attribute.
func WarnAt(to *diag.Diagnostics, at path.Path, t text.Message) {
	to.AddAttributeWarning(at, t.Summary, t.Detail)
}

// Done adds the warnings of a change, and a warning if the change waited for a lock.
func Done(to *diag.Diagnostics, action reconfigure.Action, name string, out reconfigure.Outcome) {
	for _, w := range out.Warnings {
		Warn(to, text.WarningText(action, name, w, out.Snapshot))
	}
	if waited := out.Waited; waited != nil {
		Warn(to, text.New("Waited for another run before changing member "+name,
			"For %s the lock on membership changes was held by %s. Members change one at a time.", waited.For.Round(time.Second), waited.Holder))
	}
}

// ErrorOn is [ErrorAt] for a top-level argument of the resource.
func ErrorOn(to *diag.Diagnostics, argument string, t text.Message) {
	ErrorAt(to, path.Root(argument), t)
}
