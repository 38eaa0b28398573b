// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// FuzzMetrics parses arbitrary answers as the metrics of a member, before and after.
func FuzzMetrics(f *testing.F) {
	f.Add("etcd_network_active_peers{Local=\"a\",Remote=\"b\"} 1\n", "etcd_network_peer_sent_failures_total{To=\"b\"} 1e+06\n", uint64(10))
	f.Add("etcd_network_active_peers{Local=\"a\",Remote=\"ffffffffffffffffff\"} 1", "# HELP\n\x00\n"+strings.Repeat("x", 70000), uint64(10))
	f.Add("etcd_network_peer_sent_bytes_total{To=\"0\"} 9e999", "etcd_network_peer_sent_bytes_total{To=\"ffffffffffffffffff\"} .", uint64(1))
	f.Add("etcd_network_peer_received_bytes_total{From=\"b\"} 1\n", "etcd_network_peer_received_bytes_total{From=\"b\"} 2\n", uint64(10))
	f.Fuzz(func(t *testing.T, before, after string, of uint64) {
		was, is := metricsFrom([]byte(before), membership.MemberID(of)), metricsFrom([]byte(after), membership.MemberID(of)).Traffic
		for remote := range was.Connected {
			if !strings.Contains(before, "Local=\"") || remote == 0 && !strings.Contains(before, "Remote=\"0") {
				t.Fatalf("%s is a peer according to %q", remote, before)
			}
		}
		now := time.Now()
		for id := range is {
			d := peerCheck{last: was.Traffic[id]}
			active, settled := d.next(is[id], now)
			if settled && (!active || is[id].Received <= was.Traffic[id].Received) {
				t.Fatalf("one look settles %v after %v: active %v", is[id], was.Traffic[id], active)
			}
			if settled {
				continue
			}
			if active, _ := d.next(is[id], now.Add(peerWatch)); active {
				t.Fatalf("it lives, and has said nothing: %v after %v", is[id], was.Traffic[id])
			}
		}
	})
}

// FuzzMemberList parses arbitrary answers as a member list. An accepted list
// can be rendered and printed verbatim.
func FuzzMemberList(f *testing.F) {
	for _, resp := range []*pb.MemberListResponse{
		lying(0xa1, listed(0xa1, "a", "http://10.0.0.1:2379"), &pb.Member{ID: 2, PeerURLs: []string{"https://[FD00::1]:2380/"}, IsLearner: true}).Members,
		lying(0xa1, listed(0xa1, "a\nb"), listed(0xa1, "c")).Members,
		lying(0xa1, &pb.Member{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380\nbootcmd: [reboot]", "http://a\u0085b:1", "http://0.0.0.0:2380"}}).Members,
		{},
	} {
		wire, err := proto.Marshal(resp)
		must.Succeed(f, err)
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var resp pb.MemberListResponse
		if proto.Unmarshal(wire, &resp) != nil {
			return
		}
		l, err := listFrom(&resp)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' && r != '…' }) || len(err.Error()) > 2000 {
				t.Fatalf("shown raw: %q", err)
			}
			return
		}
		if len(l.members) > 99 || len(l.members) != len(resp.Members) {
			t.Fatalf("%d members of %d", len(l.members), len(resp.Members))
		}
		for i, m := range l.members {
			if m.ID == 0 || i > 0 && m.ID <= l.members[i-1].ID || len(m.Name) > 253 || strings.ContainsFunc(m.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("it passes: %+v", m)
			}
			for _, u := range append(m.PeerURLs, m.ClientURLs...) {
				if again, err := membership.ListedURL(u); err != nil || again != u || strings.Trim(u, "abcdefghijklmnopqrstuvwxyz0123456789.-_:/[]") != "" {
					t.Fatalf("the URL %q passes; read again it is %q, %v", u, again, err)
				}
			}
		}
		who := New(settings(), nil).ownersOf(l.members)
		for _, m := range l.members {
			if len(connection.Askable(m.ClientURLs)) != len(m.ClientURLs) {
				t.Fatalf("of the client URLs %q some cannot be asked", m.ClientURLs)
			}
			for _, u := range m.ClientURLs {
				if !who.isOwnAddress(u, m.ID) {
					t.Fatalf("%s is not an address of member %s", u, m.ID)
				}
			}
		}
	})
}

// FuzzStatus parses arbitrary answers as a status.
func FuzzStatus(f *testing.F) {
	for _, s := range []*pb.StatusResponse{lying(1).Status, {Version: "3.6.0\n", Errors: []string{"memberID:1 alarm:NOSPACE "}}, {DowngradeInfo: &pb.DowngradeInfo{Enabled: true, TargetVersion: "\x1b["}}} {
		wire, err := proto.Marshal(s)
		must.Succeed(f, err)
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var s pb.StatusResponse
		if proto.Unmarshal(wire, &s) != nil || checkStatus((*clientv3.StatusResponse)(&s)) != nil {
			return
		}
		if s.Header == nil {
			s.Header = &pb.ResponseHeader{} // without a header it is rejected earlier
		}
		a := answered(probe{status: (*clientv3.StatusResponse)(&s)})
		for _, text := range []string{a.Version, a.Downgrade} {
			if len(text) > 253 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("it passes: %q", text)
			}
		}
		for _, alarm := range a.Alarms {
			if strings.Trim(alarm.Kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				t.Fatalf("it passes: %q", alarm.Kind)
			}
		}
	})
}

// FuzzRecord parses arbitrary values as records and turns, and shows them as malformed ones.
func FuzzRecord(f *testing.F) {
	for line := range strings.Lines(must.Read(f, "testdata/records.txt")) {
		f.Add("a", []byte(line))
	}
	f.Add("a", []byte(`{"format":1,"owner":"a","name":"a","peer_urls":["http://10.0.0.1:2380"],"member_id":"2a","state":"announced","started":true}`))
	f.Add("a", []byte(`{"format":1,"voters":3,"since":"2026-11-21T01:02:03Z","by":"alice@ops1"}`))
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		kv := &mvccpb.KeyValue{Key: []byte(membership.MetadataPrefix + name), Value: value}
		printed := func(texts ...string) {
			for _, text := range texts {
				if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Fatalf("it passes: %q", text)
				}
			}
		}
		bad := malformed(recordKind.what, "/k", value, errors.New("x")).Error()
		if strings.ContainsFunc(bad, func(r rune) bool { return r < ' ' || r > '~' && r != '…' }) || len(bad) > 2000 {
			t.Errorf("shown raw: %q", bad)
		}
		if r, err := recordKind.decode(name, kv); err == nil {
			printed(append(r.PeerURLs, r.Owner, r.Name)...)
			if r.Owner != name || (r.State == Intended) != (r.ID() == 0) {
				t.Fatalf("%q at %q is %+v", value, name, r)
			}
		}
		if turn, err := turnKind.decode(name, kv); err == nil {
			printed(turn.Name, turn.By)
			if turn.Voters < 1 || turn.Name != name {
				t.Fatalf("%q at %q is %+v", value, name, turn)
			}
		}
	})
}
