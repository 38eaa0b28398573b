// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// scene is a machine, its peers and its registry, in which the rows of a story follow
// each other.
type scene struct {
	*testing.T
	sh       shell
	registry *registry
	protocol string
	rows     []row
	dir      string
	peers    map[string]*peer
	urls     map[string]string
	env      map[string]string
	given    []string // the registrations before a run
	refuses  int      // the answer to a member that is not listed
}

func newScene(t *testing.T, sh shell, g *registry, protocol string, rows ...row) *scene {
	t.Helper()
	s := &scene{
		T: t, sh: sh, registry: g, protocol: strings.TrimSpace(protocol), rows: rows, dir: filepath.Join(t.TempDir(), "a machine"),
		peers: map[string]*peer{}, urls: map[string]string{"c": own}, refuses: http.StatusGone,
	}
	s.env = map[string]string{"TEST_PATIENCE": "60", "ETCD_NAME": "us", "ETCD_DATA_DIR": s.path("data")}
	for _, r := range rows {
		for name := range r.answers {
			if s.peers[name] == nil {
				s.peers[name] = newPeer(t, step{answer: s.handler(r, name, "breaks")}) // until it is told
				s.urls[name] = s.peers[name].url
			}
		}
	}
	s.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = s.urls["c"]
	return s
}

func (s *scene) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// url is that of a peer. Nobody listens at those that never answer.
func (s *scene) url(name string) string {
	if s.urls[name] == "" {
		s.urls[name] = fmt.Sprintf("http://127.0.0.1:%d", 2+len(s.urls))
	}
	return s.urls[name]
}

var (
	variable = regexp.MustCompile(`\$[a-z]+`)
	repeated = regexp.MustCompile(`(\d+)\*<([^>]*)>`)
)

// fill replaces variables, repetitions, and the pictures of control characters.
func (s *scene) fill(text string) string {
	text = repeated.ReplaceAllStringFunc(text, func(found string) string {
		m := repeated.FindStringSubmatch(found)
		n, _ := strconv.Atoi(m[1])
		return strings.Repeat(m[2], n)
	})
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		switch name := found[1:]; {
		case name == "own":
			return s.url("c")
		case name == "dead":
			return dead
		case name == "dir":
			return s.dir
		case name == "once":
			return fmt.Sprintf("test-%s-%d", strings.ReplaceAll(s.Name(), "/", "-"), os.Getpid())
		case name == "full":
			return full(s.T)
		case name == "sum":
			return snapshotSum
		case name == "web":
			return snapshots(s.T)
		case name == "registry":
			return s.registry.process.ClientURL()
		case name == "members":
			return fmt.Sprintf(
				`{"id":1,"name":"a","peerURLs":[%q],"clientURLs":["http://c"]},`+
					`{"id":2,"peerURLs":[%q],"isLearner":true}`, s.url("a"), s.url("c"))
		case name == "second":
			return fmt.Sprintf(
				`{"id":9,"name":"b","peerURLs":["https://Node-b.Example.com:2380",%q],"clientURLs":["x"]},`+
					`{"id":20,"peerURLs":[%q],"isLearner":true}`, s.url("b"), s.url("c"))
		case len(name) == 1:
			return s.url(name)
		}
		return found
	})
	return strings.Map(func(r rune) rune {
		if r >= 0x2400 && r <= 0x2420 {
			return r - 0x2400
		}
		return r
	}, text)
}

// memberOf is the member ID in the log of a row, which starts.txt has by a letter.
func memberOf(r row) uint64 { return cmp.Or(r.Data, 'c') }

// handler answers at the URL of a name as a row says.
func (s *scene) handler(r row, name, text string) http.HandlerFunc {
	first, rest, _ := strings.Cut(text, " ")
	code, err := strconv.Atoi(first)
	switch {
	case first == "hang":
		return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	case first == "breaks":
		return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	case err == nil:
		cluster, body, _ := strings.Cut(rest, " ")
		body = s.fill(body)
		return func(w http.ResponseWriter, r *http.Request) {
			if cluster != "" && cluster != "-" {
				w.Header().Set("X-Etcd-Cluster-ID", cluster)
			}
			w.Header().Set("Location", "http://"+r.Host+"/members")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	answer := rules.Parse("||" + name + ": " + text).Answers[name]
	cluster := map[uint64]string{1: dataCluster, 2: "bad"}[answer.Cluster]
	known := false
	var list []entry
	for _, m := range answer.Members {
		e := entry{ID: m.ID, Name: m.Name, PeerURLs: []string{s.url(m.PeerURL)}, IsLearner: m.Learner}
		if m.ID == memberOf(r) {
			e.ID, known = 0x75035e163d83b13b, true
		}
		if m.Name == "c" {
			e.Name = "us"
		}
		if m.Started {
			e.ClientURLs = []string{"http://client"}
		}
		list = append(list, e)
	}
	self := answer.ID == memberOf(r)
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(list) == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/members":
			w.Header().Set("X-Etcd-Cluster-ID", cluster)
			_ = json.NewEncoder(w).Encode(list)
		// The rest as rafthttp's streamHandler.
		case r.URL.Path != "/raft/stream/message/"+dataID || r.Header.Get("X-Server-Version") == "":
			http.Error(w, "invalid path", http.StatusNotFound)
		case r.Header.Get("X-Etcd-Cluster-Id") != cluster:
			http.Error(w, "cluster ID mismatch", http.StatusPreconditionFailed)
		case self:
			http.Error(w, "error sender not found", http.StatusNotFound)
		case known:
			http.Error(w, "to field mismatch", http.StatusPreconditionFailed)
		default:
			w.WriteHeader(s.refuses)
		}
	}
}

// told makes a peer answer as a row says: N answers of one kind, then of another.
func (s *scene) told(r row, name, text string) {
	p := s.peers[name]
	var steps []step
	until := int32(0)
	for part := range strings.SplitSeq(text, " > ") {
		times, kind, many := strings.Cut(part, "* ")
		n, err := strconv.Atoi(times)
		if !many || err != nil {
			n, kind = 1, part
		}
		until += int32(n)
		steps = append(steps, step{until, s.handler(r, name, kind)})
	}
	p.asked.Store(0)
	p.steps.Store(&steps)
}

// play runs the script for each row, and checks what comes of it.
func (s *scene) play() {
	s.Helper()
	for _, r := range s.rows {
		s.prepare(r)
		script := s.sh
		if slices.Contains(r.words, "limited") {
			script.script.Text = strings.Replace(script.script.Text, "download 33554432 ", "download 8 ", 1)
		}
		if done := script.run(s.T, s.environment()...); !s.decided(r, done) {
			s.Fatalf("%s: exit code %d, want to %s and %q\n%s%s", r.Name, done.code, r.Want, r.Words, done.stdout, done.stderr)
		}
		for _, check := range r.checks {
			if problem := s.check(check); problem != "" {
				s.Errorf("%s: %s: %s", r.Name, check, problem)
			}
		}
	}
}

func (s *scene) environment() (env []string) {
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	return env
}

// prepare makes of the machine and its peers what a row says.
func (s *scene) prepare(r row) {
	s.Helper()
	var peers []string
	for _, name := range r.Peers {
		if r.known || s.registry == nil { // which names the peers
			peers = append(peers, s.url(name))
		}
	}
	s.env["ETCD_JOIN_PEERS"], s.env["ETCD_INITIAL_CLUSTER_STATE"] = strings.Join(peers, ","), map[bool]string{true: "new", false: "existing"}[r.Initial]
	for name, text := range r.answers {
		s.told(r, name, text)
	}
	token := ""
	if r.Initial {
		s.unless("TEST_NOW", fmt.Sprint(created+map[bool]int{false: 4000}[r.Window]))
		if s.registry == nil {
			token = "T-1800000000-1800003600"
			s.unless("ETCD_INITIAL_CLUSTER", "us="+s.url("c"))
			s.unless("ETCD_INITIAL_CLUSTER_TOKEN", "T")
			s.unless(WindowVariable, "1800000000-1800003600")
		}
	}
	if s.registry != nil {
		s.environmentOfTheToken(r.Initial)
	}
	if r.Mark {
		put(s.T, filepath.Join(s.path("data")+".etcd-join-"+cmp.Or(token, "-"), "x"), "")
	}
	if r.Force {
		s.env["TEST_STEP"] = "5" // the five rounds before a forced start
	}
	for _, word := range r.words {
		s.word(word)
	}
	if r.Data != 0 {
		put(s.T, filepath.Join(cmp.Or(s.env["ETCD_WAL_DIR"], s.path("data/member/wal")), "0.wal"), string(dataLog))
	}
	if r.Forced {
		must.Succeed(s.T, os.MkdirAll(s.path("data/member/etcd-join-forced"), 0o700))
	}
	if s.registry != nil {
		s.given = s.registry.members(s.T, "T")
	}
}

// environmentOfTheToken sets what tells an initial member or a new one of the registry.
func (s *scene) environmentOfTheToken(initial bool) {
	prefix := "ETCD_JOIN_DISCOVERY"
	if initial {
		prefix = "ETCD_DISCOVERY"
	}
	if s.protocol == "v2" {
		s.unless(prefix, s.registry.process.ClientURL()+"/v2/keys/T")
		return
	}
	s.unless(prefix+"_TOKEN", "T")
	s.unless(prefix+"_ENDPOINTS", dead+","+strings.TrimPrefix(s.registry.process.ClientURL(), "http://"))
}

// unless sets a variable that no row has set.
func (s *scene) unless(name, value string) {
	if _, is := s.env[name]; !is {
		s.env[name] = value
	}
}

// logs are beginnings of a log by the value of the word log.
var logs = map[string]string{
	"of-another-cluster": string(dataLog[:53]) + "\x1e\x00\x00", "of-another-member": string(dataLog[:35]) + "\xbc" + string(dataLog[36:]),
	"whole": string(dataLog), "empty": "", "none": strings.Repeat("\xff", 600),
}

// helps are what etcd prints about its check of the store, by version.
var helps = map[string]string{
	"3.5": "  --experimental-initial-corrupt-check 'false'",
	"3.6": "    InitialCorruptCheck=true|false (ALPHA - default=false)\n  --experimental-initial-corrupt-check 'false'",
	"3.7": "    InitialCorruptCheck=true|false (ALPHA - default=false)",
}

// utls are programs in place of etcdutl by the value of the word etcdutl. Any other value
// is what it says when it fails.
var utls = map[string]string{
	"": "#!/bin/sh\n", "3.6": fakeUtl, "3.5": strings.Replace(fakeUtl, `,"version":"3.6.0"`, "", 1),
	"overwrites": strings.Replace(fakeUtl, "status) ", `status) echo other >"${0%/*}/../a snapshot.db"; `, 1),
}

func (s *scene) word(word string) {
	s.Helper()
	name, value, assigned := strings.Cut(word, "=")
	value = s.fill(value)
	var err error
	switch {
	case word[0] == '+' && strings.HasSuffix(word, "/"):
		err = os.MkdirAll(s.path(name[1:]), 0o700)
	case word[0] == '+':
		put(s.T, s.path(s.fill(name[1:])), value)
	case word[0] == '-':
		wipe(s.T, s.path(s.fill(name[1:])))
	case name == "T":
		size, members, _ := strings.Cut(value, ":")
		s.registry.set(s.T, "T", size, strings.FieldsFunc(members, func(r rune) bool { return r == ';' })...)
	case name == "log":
		put(s.T, s.path("data/member/wal/0.wal"), logs[value])
	case name == "refuses":
		s.refuses, err = strconv.Atoi(value)
	case name == "theirs":
		if os.Geteuid() != 0 {
			s.Skip("only root can give a directory away")
		}
		err = errors.Join(os.MkdirAll(s.path(value), 0o700), os.Chown(s.path(value), 4711, 4712))
	case name == "closed":
		if os.Geteuid() == 0 {
			s.Skip("root may read every directory")
		}
		err = os.Chmod(s.path(value), 0)
		s.Cleanup(func() { _ = os.Chmod(s.path(value), 0o700) })
	case word == "restore":
		put(s.T, s.path("a snapshot.db"), snapshot)
		s.env[RestoreVariable], s.env[RestoreSHA256Variable] = s.path("a snapshot.db"), snapshotSum
		s.word("etcd=3.6.16")
		s.word("etcdutl=3.6")
	case word == "force" || word == "forced":
		s.env["ETCD_FORCE_NEW_CLUSTER"] = "true"
	case word == "file":
		s.env["ETCD_CONFIG_FILE"] = "/etc/etcd/etcd.yaml"
	case word == "renamed":
		s.env["ETCD_NAME"] = "z"
	case name == "help":
		put(s.T, s.path("bin/help"), cmp.Or(helps[value], value))
		s.word("etcd=3.6.0")
	case name == "etcd" || name == "etcdutl":
		s.env["ETCD_JOIN_BIN"] = s.path("bin")
		text, known := utls[value]
		if name == "etcd" {
			text = fakeEtcd(value)
		} else if !known {
			text = failing(value)
		}
		if assigned {
			put(s.T, s.path("bin/"+name), text)
			err = os.Chmod(s.path("bin/"+name), 0o700)
		}
	case assigned:
		s.env[name] = value
	case !slices.Contains([]string{"initial", "window", "mark", "data", "copy", "v2", "v3", "limited"}, word):
		err = errors.New("there is no such word")
	}
	if _, there := os.Stat("/usr/local/bin/etcd"); word == "ETCD_JOIN_BIN=" && there == nil {
		s.Skip("there is an etcd in the directory that the script looks in by default")
	}
	if err != nil {
		s.Fatalf("%s: %v", word, err)
	}
}

// decided reports whether a run of the script did what the row wants.
func (s *scene) decided(r row, done result) bool {
	code := map[rules.Decision]int{rules.Wait: exitRetry, rules.Never: exitNever}[r.Want]
	joins := r.Want == rules.Join || r.Want == rules.SetAside
	stdout := ""
	for _, check := range r.checks {
		if list, is := strings.CutPrefix(check, "prints "); is {
			stdout = s.output(s.fill(list), joins)
		}
		if line, is := strings.CutPrefix(check, "adds "); is {
			stdout = s.fill(line) + "\n"
		}
	}
	if r.Forced && !r.ConfigFile {
		done.stdout = strings.TrimPrefix("-"+done.stdout, "-ETCD_FORCE_NEW_CLUSTER=\n")
	}
	printed := done.stdout == stdout || joins && stdout == "" && strings.Contains(done.stdout, "_STATE=existing")
	_, err := os.Stat(filepath.Join(s.env["ETCD_DATA_DIR"], "removed-"+dataID))
	said := strings.Contains(done.stderr, s.fill(r.Words))
	if r.Words == "-" {
		said = done.stderr == ""
	}
	return done.code == code && printed && said && (err == nil) == (r.Want == rules.SetAside) &&
		!strings.Contains(done.stderr, "secret")
}

// output is what the script prints for a member that starts with an initial cluster.
func (s *scene) output(cluster string, joins bool) string {
	state, token := "existing\n", ""
	if !joins {
		is := map[string]string{"": cmp.Or(s.env["ETCD_INITIAL_CLUSTER_TOKEN"], "etcd-cluster"), "v2": s.env["ETCD_DISCOVERY"], "v3": "T"}[s.protocol]
		state, token = "new\n", "ETCD_INITIAL_CLUSTER_TOKEN="+is+"\n"
	}
	return "ETCD_NAME=" + s.env["ETCD_NAME"] + "\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + strings.ReplaceAll(s.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"], " ", "") +
		"\nETCD_INITIAL_CLUSTER=" + cluster + "\nETCD_INITIAL_CLUSTER_STATE=" + state +
		"ETCD_DISCOVERY=\nETCD_DISCOVERY_SRV=\nETCD_DISCOVERY_TOKEN=\nETCD_DISCOVERY_ENDPOINTS=\n" + token
}

// check returns what is not so after a run.
func (s *scene) check(check string) string {
	s.Helper()
	kind, what, _ := strings.Cut(s.fill(check), " ")
	found, _ := filepath.Glob(s.path(what))
	switch kind {
	case "has":
		return strings.Repeat("it is not there", 1-min(len(found), 1))
	case "lacks":
		return strings.Join(found, ", ")
	case "private", "theirs":
		info, err := os.Stat(s.path(what))
		if err != nil {
			return err.Error()
		}
		if of, ok := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o700 || kind == "theirs" && (!ok || of.Uid != 4711 || of.Gid != 4712) {
			return fmt.Sprint(info.Mode(), info.Sys())
		}
	case "asked":
		name, times, _ := strings.Cut(what, " ")
		if n := fmt.Sprint(s.peers[name].asked.Load()); n != times {
			return n + " times"
		}
	case "registered":
		return s.registry.differs(s.T, s.given, what)
	case "restored":
		if !isRestored(s.T, s.path("data")) {
			return "nothing is restored"
		}
	case "clean":
		wantNothing(s.T, s.path("data"))
	case "prints", "adds": // see decided
	default:
		return "there is no such check"
	}
	return ""
}
