// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Test that incomplete answers or thousands of registrations cause an error and
// not a crash, and that registrations with unprintable names or invalid URLs do
// not count.
func TestV3AnswersAreBounded(t *testing.T) {
	t.Parallel()
	header := &pb.ResponseHeader{ClusterId: 1, MemberId: 1}
	answer := func(members ...*mvccpb.KeyValue) etcdtest.Lies {
		return etcdtest.Lies{Range: &pb.RangeResponse{Header: header}, Txn: &pb.TxnResponse{Header: header, Responses: []*pb.ResponseOp{
			{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte("size"), Value: []byte("3")}}}}},
			{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: members}}},
		}}}
	}
	registered := func(id int, value string) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/t/members/%x", id), Value: []byte(value), CreateRevision: int64(id)}
	}
	var many []*mvccpb.KeyValue
	for i := range connection.MaxKeys + 1 {
		many = append(many, registered(i+1, "a=http://10.0.0.1:2380"))
	}
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	r := newV3(t, connection.Settings{Endpoints: []string{liar.URL}}, DefaultPrefix)
	for what, lies := range map[string]etcdtest.Lies{
		"no header":    {},
		"no responses": {Txn: &pb.TxnResponse{Header: header}, Range: &pb.RangeResponse{Header: header}},
		"no range":     {Txn: &pb.TxnResponse{Header: header, Responses: []*pb.ResponseOp{{}, {}}}, Range: &pb.RangeResponse{Header: header}},
		"thousands":    answer(many...),
	} {
		liar.Tell(lies)
		if s, err := r.Status(t.Context(), "t"); err == nil {
			t.Errorf("%s: %+v", what, s)
		}
		if what == "thousands" {
			continue
		}
		if p, err := r.Create(t.Context(), "t", 3); err == nil {
			t.Errorf("%s: created %+v", what, p)
		}
	}
	liar.Tell(answer(registered(1, "a=http://10.0.0.1:2380\nx"), registered(2, "b\x1b[2J=http://10.0.0.2:2380"), registered(3, "c=HTTP://Host:2380/"), registered(4, "d=http://a\u0085b:1")))
	s, err := r.Status(t.Context(), "t")
	if err != nil || len(s.Members) != 1 || s.Members[0].Name != "c" || s.Members[0].PeerURLs[0] != "http://host:2380" {
		t.Errorf("%+v, %v", s, err)
	}
}
