// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Test the size limit of each kind of answer, and that each requires a header.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	header := &pb.ResponseHeader{ClusterId: 1, MemberId: 1}
	text := func(n int) string { return strings.Repeat("a", n) }
	value := func(n int) *pb.RangeResponse {
		return &pb.RangeResponse{Header: header, Kvs: []*mvccpb.KeyValue{{Key: []byte("k"), Value: []byte(text(n))}}}
	}
	list := func(n int) *pb.MemberListResponse {
		return &pb.MemberListResponse{Header: header, Members: []*pb.Member{{ID: 1, Name: text(n)}}}
	}
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	c := client(t, Settings{}, liar.URL)
	read := func(ctx context.Context) error { _, err := c.Get(ctx, "k"); return err }
	members := func(ctx context.Context) error { _, err := c.MemberList(ctx); return err }
	about := func(ctx context.Context) error { _, err := c.Status(ctx, liar.URL); return err }
	for name, test := range map[string]struct {
		lies etcdtest.Lies
		ask  func(context.Context) error
		want codes.Code
	}{
		"a value":            {etcdtest.Lies{Range: value(maxKeys - 100)}, read, codes.OK},
		"a value too long":   {etcdtest.Lies{Range: value(maxKeys)}, read, codes.ResourceExhausted},
		"a list":             {etcdtest.Lies{Members: list(maxMembers - 100)}, members, codes.OK},
		"a list too long":    {etcdtest.Lies{Members: list(maxMembers)}, members, codes.ResourceExhausted},
		"a status":           {etcdtest.Lies{Status: &pb.StatusResponse{Header: header, Version: text(maxAnswered - 100)}}, about, codes.OK},
		"a status too long":  {etcdtest.Lies{Status: &pb.StatusResponse{Header: header, Version: text(maxAnswered)}}, about, codes.ResourceExhausted},
		"a read, headless":   {etcdtest.Lies{}, read, codes.Unknown},
		"a list, headless":   {etcdtest.Lies{}, members, codes.Unknown},
		"a status, headless": {etcdtest.Lies{}, about, codes.Unknown},
	} {
		liar.Tell(test.lies)
		err := c.Do(t.Context(), test.ask)
		if headless := test.want == codes.Unknown; headless && !errors.Is(err, errNoHeader) || !headless && status.Code(errors.Unwrap(err)) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
