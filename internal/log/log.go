// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package log writes the lines with which TF_LOG_PROVIDER=DEBUG explains what the
// provider decided, retried and waited for.
package log

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Subsystem is the part of the provider that a line is about. It is part of the
// logger's name: provider.etcd.lock.
type Subsystem string

// The subsystems.
const (
	// Connection covers connections to servers: endpoints, logins, certificates.
	Connection Subsystem = "connection"
	// Lock covers the cluster's lock on membership changes.
	Lock Subsystem = "lock"
	// Membership covers the decisions about members and the changes made to them.
	Membership Subsystem = "membership"
	// Discovery covers discovery tokens and the services that hold them.
	Discovery Subsystem = "discovery"
	// Claim covers keys with a TTL.
	Claim Subsystem = "claim"
)

// Debug writes a line at debug level. event is a constant text, facts are pairs
// of a name and a value. A value is a string, a number, a boolean, a duration, an
// error, a fmt.Stringer or a slice of strings. For any other value Debug writes
// only the type, so that no line holds a whole model. It leaves out a nil value, and
// shows of a value what [membership.Shown] allows.
func Debug(ctx context.Context, s Subsystem, event string, facts ...any) {
	fields := make(map[string]any, len(facts)/2)
	for i := 0; i+1 < len(facts); i += 2 {
		if name, ok := facts[i].(string); ok && facts[i+1] != nil {
			fields[name] = printable(facts[i+1])
		}
	}
	name := string(s)
	tflog.SubsystemDebug(tflog.NewSubsystem(ctx, name, oneUp), name, event, fields)
}

// oneUp makes a line name the caller of [Debug].
var oneUp = tflog.WithAdditionalLocationOffset(2)

func printable(value any) any {
	switch v := value.(type) {
	case bool, int, int64, uint64, float64:
		return v
	case string:
		return shown(v)
	case []string:
		masked := make([]string, len(v))
		for i, s := range v {
			masked[i] = shown(s)
		}
		return masked
	case time.Duration:
		return v.String()
	case error:
		return membership.Redacted(membership.Masked(v.Error()))
	case fmt.Stringer:
		return membership.Redacted(membership.Masked(v.String()))
	}
	return fmt.Sprintf("%T", value)
}

func shown(value string) string {
	if shown, ok := membership.Shown(membership.Masked(value)); ok {
		return shown
	}
	return membership.Hidden(value)
}
