// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// script plays the requests of a file of testdata, and compares all that the servers
// answer. A line of "ask" is a server, or SERVER/USER with the token of that user's last
// Authenticate, a method with *N for a stream that ends after N events, and the request.
// +N is a revision, counted from that before the script. $a, $name_a and $url_a are the
// ID, the name and the peer URL of the server a. $1 is the first other ID or token in an
// answer. @N is the right header of the server that was asked, at the revision N. "tries"
// names requests, and "denied" says which of them a user may not make. What has the
// argument since36 is not asked of 3.5.
//
// "await" asks until the answers are those of the file, and "short" for a moment only. "leader"
// waits for a leader, "leads" says which server it is, and "peers" which ones a server is
// connected to. "do" starts and stops servers, and "start" says why one does not start.
// The answers are those of etcd 3.6: go test -run 'TestContractReal/3.6' -rewrite.
type script struct {
	testing.TB
	system
	servers map[string]*scripted
	base    int64
	tokens  map[string]string // by user
	values  map[string]string // by symbol
	symbols map[string]string // by value
	tries   []string
	short   bool
}

// scripted is a server, and what it says of itself in headers.
type scripted struct {
	member
	name string
	conn grpc.ClientConnInterface
	*pb.ResponseHeader
}

// scriptCase is the case that a file of testdata has.
func scriptCase(name string) contract {
	return contract{name, func(tb testing.TB, s system) {
		p := newScript(tb, s)
		datadriven.RunTestAny(tb, filepath.Join("testdata", name+".txt"), func(_ testing.TB, d *datadriven.TestData) string {
			if d.HasArg("since36") && !s.version.from36() {
				return d.Expected
			}
			p.short = d.Cmd == "short" || d.Cmd == "await"
			switch d.Cmd {
			case "await":
				return p.await(d.Pos+": "+d.Input, d.Expected, func() string { return p.lines(d.Input, p.answer) })
			case "peers":
				return p.await(d.Pos, d.Expected, func() string { return p.lines(d.Input, p.peers) })
			case "leader":
				p.leads(strings.Fields(d.Input)...)
				return ""
			case "leads":
				return p.leads(strings.Fields(d.Input)...) + "\n"
			case "do":
				p.lines(d.Input, p.do)
				return ""
			case "start": // a simulated process, which may refuse to
				return p.lines(d.Input, func(name string) string { return fmt.Sprint(p.servers[name].server.(simServer).Process.Start()) })
			case "tries":
				p.tries = strings.Split(d.Input, "\n")
				return ""
			case "denied":
				return p.lines(d.Input, func(who string) string { return who + ": " + p.denied(who) })
			}
			return p.lines(d.Input, p.answer)
		})
	}}
}

// lines returns what comes of each line.
func (p *script) lines(input string, of func(line string) string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		fmt.Fprintln(&out, of(strings.TrimSpace(line)))
	}
	return out.String()
}

func (p *script) answer(line string) string {
	who, request, _ := strings.Cut(line, " ")
	answer, err := p.ask(who, request)
	return strings.TrimSpace(answer + " " + shown(err, request))
}

func newScript(tb testing.TB, s system) *script {
	p := &script{TB: tb, system: s, servers: map[string]*scripted{}, tokens: map[string]string{}, values: map[string]string{}, symbols: map[string]string{}}
	p.set("$before", s.version.before())
	p.set("$target", s.version.before()+".0")
	p.set("$minor", s.version.minor())
	p.set("$version", string(s.version))
	for i, m := range open(tb, s.servers...) {
		if short(func(ctx context.Context) error { _, err := m.Status(ctx, m.ClientURL()); return err }) != nil {
			continue // an earlier case has removed it
		}
		letter := "abcd"[i : i+1]
		p.servers[letter] = &scripted{member: m, name: letter, conn: m.conn(tb)}
		p.call(letter, letter)
		p.base = revision(tb, m)
	}
	return p
}

func (p *script) set(symbol, value string) { p.values[symbol], p.symbols[value] = value, symbol }

// symbol returns the symbol of a value, a new one if it has none.
func (p *script) symbol(value string) string {
	if p.symbols[value] == "" {
		n := 1
		for p.values[fmt.Sprint("$", n)] != "" {
			n++
		}
		p.set(fmt.Sprint("$", n), value)
	}
	return p.symbols[value]
}

var (
	symbolic = regexp.MustCompile(`\$\w+`)
	relative = regexp.MustCompile(`\+\d+`)
	number   = regexp.MustCompile(`\d+`)
)

// ask sends a request, and returns the answers.
func (p *script) ask(who, request string) (string, error) {
	name, text, _ := strings.Cut(request, " ")
	name, events, streams := strings.Cut(name, "*")
	method := methodOf(name)
	in, out := message(method.Input()), message(method.Output())
	text = symbolic.ReplaceAllStringFunc(text, func(s string) string { return p.values[s] })
	text = relative.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseInt(s[1:], 10, 64)
		ok(p, err)
		return fmt.Sprint(p.base + n)
	})
	ok(p, prototext.Unmarshal([]byte(text), in))
	at, user, authenticated := strings.Cut(who, "/")
	ctx, end := context.WithTimeout(context.Background(), etcdtest.WaitLimit)
	if p.short {
		ctx, end = context.WithTimeout(context.Background(), 1500*time.Millisecond)
	}
	defer end()
	if authenticated {
		ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, cmp.Or(p.tokens[user], p.values[user], user))
	}
	p.header(at)
	s := p.servers[at]
	full := fmt.Sprintf("/%s/%s", method.Parent().FullName(), name)
	if !method.IsStreamingServer() {
		err := s.conn.Invoke(ctx, full, in, out)
		if login, is := out.(*pb.AuthenticateResponse); is && err == nil {
			p.tokens[in.(*pb.AuthenticateRequest).Name] = login.Token
		}
		if err != nil {
			return "", err
		}
		return p.show(s, out.ProtoReflect()), nil
	}
	want, _ := strconv.Atoi(events)
	var answers []string
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, full)
	ok(p, err)
	ok(p, stream.SendMsg(in))
	if !streams {
		ok(p, stream.CloseSend())
	}
	for err = stream.RecvMsg(out); err == nil; err = stream.RecvMsg(out) {
		watch, _ := out.(*pb.WatchResponse)
		if name != "Snapshot" {
			answers = append(answers, p.show(s, out.ProtoReflect()))
		}
		if want -= len(watch.GetEvents()); watch.GetCanceled() || streams && want <= 0 {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.Join(answers, "; "), err
}

// denied returns the tries that a user may not make.
func (p *script) denied(who string) string {
	var out []string
	for _, try := range p.tries {
		what, request, _ := strings.Cut(try, ": ")
		if _, err := p.ask(who, request); status.Code(err) == codes.PermissionDenied {
			out = append(out, what)
		} else {
			ok(p, err)
		}
	}
	return strings.Join(out, ", ")
}

// shown is an error. Of a snapshot and of a learner, 3.5 gives other codes and texts. Without
// a quorum the deadline is the server's too, which may answer at the last moment.
func shown(err error, request string) string {
	code, text := status.Code(err), strings.TrimPrefix(status.Convert(err).Message(), "etcdserver: ")
	switch {
	case err == nil:
		return ""
	case code == codes.DeadlineExceeded, strings.HasPrefix(text, "request timed out"):
		return "! no answer"
	case strings.HasPrefix(request, "Snapshot"), strings.Contains(text, "for learner"):
		return "! " + strings.TrimPrefix(text, "auth: ")
	case errors.As(err, new(*connection.Error)), code == codes.Unavailable && !strings.HasPrefix(status.Convert(err).Message(), "etcdserver: "):
		return "! not there"
	}
	return fmt.Sprintf("! %s: %s", code, text)
}

// methodOf finds a method of etcd's services by its name, which only one of them has.
func methodOf(name string) protoreflect.MethodDescriptor {
	services := pb.File_rpc_proto.Services()
	for i := range services.Len() {
		if m := services.Get(i).Methods().ByName(protoreflect.Name(name)); m != nil {
			return m
		}
	}
	panic("no method " + name)
}

func message(d protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return kind.New().Interface()
}

// varies are the fields that differ each time. statusCase states some of them. The leader
// may lower the version of a cluster at any moment.
var varies = map[string]bool{
	"StatusResponse.leader": true, "StatusResponse.dbSize": true, "StatusResponse.dbSizeInUse": true,
	"StatusResponse.raftIndex": true, "StatusResponse.raftAppliedIndex": true, "StatusResponse.raftTerm": true,
	"DowngradeResponse.version": true,
}

// show renders all of an answer that is the same on each server and each time.
func (p *script) show(from *scripted, m protoreflect.Message) string {
	if h, is := m.Interface().(*pb.ResponseHeader); is && from.ResponseHeader != nil {
		switch {
		case h.ClusterId == from.ClusterId && h.MemberId == from.MemberId && h.RaftTerm == from.RaftTerm && h.Revision > 0:
			return fmt.Sprint("@", h.Revision-p.base)
		case h.ClusterId == from.ClusterId && h.MemberId == from.MemberId && h.RaftTerm == from.RaftTerm:
			return "@" // the cluster service gives no revision
		case h.ClusterId == 0 && h.MemberId == 0 && h.RaftTerm == 0:
			return fmt.Sprint("part@", h.Revision-p.base)
		}
	}
	var out []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) || varies[strings.TrimPrefix(string(field.FullName()), "etcdserverpb.")] {
			continue
		}
		v := m.Get(field)
		name := string(field.Name()) + ":"
		switch {
		case field.Name() == "header":
			name = ""
			fallthrough
		case !field.IsList():
			out = append(out, name+p.value(from, m, field, v))
		case field.Name() == "clientURLs":
			out = append(out, fmt.Sprint(name, v.List().Len()))
		default:
			var parts []string
			for i := range v.List().Len() {
				parts = append(parts, p.value(from, m, field, v.List().Get(i)))
			}
			list, are := m.Interface().(interface{ GetMembers() []*pb.Member })
			if are && inOrder(list.GetMembers()) || field.Name() == "alarms" || field.Name() == "errors" || field.Name() == "keys" {
				slices.Sort(parts) // the order of the IDs is another one each time; the others have none
			}
			out = append(out, fmt.Sprint(name, parts))
		}
	}
	return strings.Join(out, " ")
}

// inOrder reports whether a list has the order of the IDs.
func inOrder(members []*pb.Member) bool {
	return slices.IsSortedFunc(members, func(a, b *pb.Member) int { return cmp.Compare(a.ID, b.ID) })
}

func (p *script) value(from *scripted, in protoreflect.Message, field protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if left, is := in.Interface().(*pb.LeaseTimeToLiveResponse); is && field.Name() == "TTL" && left.TTL > 0 && left.TTL <= left.GrantedTTL {
		return "left"
	}
	switch name := string(field.Name()); {
	case name == "ID", name == "lease", name == "memberID", name == "token":
		return p.symbol(v.String())
	case strings.HasSuffix(name, "revision"):
		return fmt.Sprintf("%+d", v.Int()-p.base)
	}
	switch field.Kind() {
	case protoreflect.MessageKind:
		text := p.show(from, v.Message())
		if field.Name() == "header" {
			return text
		}
		return "{" + text + "}"
	case protoreflect.BytesKind:
		return string(v.Bytes())
	case protoreflect.EnumKind:
		return string(field.Enum().Values().ByNumber(v.Enum()).Name())
	case protoreflect.StringKind:
		if symbol := p.symbols[v.String()]; symbol != "" {
			return symbol
		}
		// The package varies the number of spaces between fields.
		text := strings.Join(strings.Fields(v.String()), " ")
		return number.ReplaceAllStringFunc(text, func(n string) string { return cmp.Or(p.symbols[n], n) })
	}
	return v.String()
}
