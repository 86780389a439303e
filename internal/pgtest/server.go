package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Server is one PostgreSQL. Its methods fail the test on an error.
type Server struct {
	// Port is where it listens on the loopback address, from start to start.
	Port int

	bin, dir string
	settings []string
	owner    *syscall.Credential

	mu      sync.Mutex
	process *process // nil while stopped
	schemas int
}

// process is one life of the server.
type process struct {
	pid   int
	ready chan struct{}
	ended chan struct{}
	mu    sync.Mutex
	log   bytes.Buffer
}

const user = "slate"

// New returns a running server of the test's own, stopped and removed at its end.
// Settings are further lines of its configuration, such as "max_connections = 20".
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := create(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// create makes a data directory and starts a server on it.
func create(settings []string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if s.owner, err = unprivileged(); err != nil {
		return nil, err
	}
	// A short name: it holds a socket, whose path may have about a hundred bytes.
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if s.owner != nil {
		if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return nil, err
		}
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+s.data(), "--username="+user, "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = s.dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	if out, err := initdb.CombinedOutput(); err != nil {
		s.remove()
		return nil, fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	if err := s.start(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// binaries finds the directory of the newest PostgreSQL.
func binaries() (string, error) {
	found := ""
	if path, err := exec.LookPath("initdb"); err == nil {
		found = filepath.Dir(path)
	} else {
		newest := -1
		dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		for _, dir := range dirs {
			if n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && n > newest {
				newest, found = n, dir
			}
		}
	}
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(found, name)); found == "" || err != nil || info.IsDir() {
			return "", errors.New("pgtest: this test needs PostgreSQL's initdb and postgres, in PATH or below /usr/lib/postgresql: " +
				"install the Debian package postgresql (apt-get install postgresql)")
		}
	}
	return found, nil
}

// freePort asks the system for a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start starts the server and waits until it takes connections. The processes of a
// server that was killed may be about for a moment longer, so it is asked again.
func (s *Server) start() error {
	const within = 30 * time.Second
	for begun := time.Now(); ; {
		p, err := s.launch()
		if err != nil {
			return err
		}
		select {
		case <-p.ready:
			s.mu.Lock()
			s.process = p
			s.mu.Unlock()
			return nil
		case <-p.ended:
		case <-time.After(within):
			syscall.Kill(p.pid, syscall.SIGKILL)
			<-p.ended
		}
		p.mu.Lock()
		log := p.log.String()
		p.mu.Unlock()
		if time.Since(begun) > within || !strings.Contains(log, "still in use") {
			return fmt.Errorf("pgtest: postgres did not start:\n%s", log)
		}
	}
}

// launch starts the process and a goroutine that ends with it.
func (s *Server) launch() (*process, error) {
	args := []string{"-D", s.data()}
	for _, setting := range append([]string{
		"port=" + strconv.Itoa(s.Port),
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=" + s.dir,
		"fsync=on",
		"synchronous_commit=on",
		"shared_buffers=64MB",
		"dynamic_shared_memory_type=mmap",
		"max_connections=150",
		"log_destination=stderr",
		"logging_collector=off",
		"lc_messages=C",
	}, s.settings...) {
		name, value, _ := strings.Cut(setting, "=")
		args = append(args, "-c", strings.TrimSpace(name)+"="+strings.TrimSpace(value))
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = attributes(s.owner)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p := &process{ready: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal at the death of the parent is at the death of this thread.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.follow(stderr)
		cmd.Wait()
		close(p.ended)
	}()
	return p, <-started
}

// follow reads the server's log and notices when it is ready.
func (p *process) follow(log io.Reader) {
	ready := false
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.log.Len() > 1<<20 {
			p.log.Reset()
		}
		p.log.WriteString(line)
		p.mu.Unlock()
		if !ready && strings.Contains(line, "ready to accept connections") {
			ready = true
			close(p.ready)
		}
	}
}

// end sends a signal and waits for the process to end.
func (s *Server) end(signal syscall.Signal) {
	s.mu.Lock()
	p := s.process
	s.process = nil
	s.mu.Unlock()
	if p != nil {
		syscall.Kill(p.pid, signal)
		<-p.ended
	}
}

func (s *Server) remove() {
	s.end(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

// Stop shuts the server down as an administrator would: connections are cut,
// nothing committed is lost.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.end(syscall.SIGINT)
}

// Kill kills the server with SIGKILL: it recovers when it is started again.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.end(syscall.SIGKILL)
}

// Start starts a server that was stopped or killed.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Log is the end of what the server wrote in this life.
func (s *Server) Log() string {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// URL is the address of the database with that schema first in the search path;
// an empty schema leaves it as it is.
func (s *Server) URL(schema string) string { return address(s.Port, schema) }

func address(port int, schema string) string {
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?sslmode=disable", user, port)
	if schema != "" {
		url += "&search_path=" + schema
	}
	return url
}

// Schema makes an empty schema for the test, dropped at its end.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.schemas++
	name := fmt.Sprintf("t%d", s.schemas)
	s.mu.Unlock()
	s.Exec(t, "CREATE SCHEMA "+name)
	t.Cleanup(func() {
		// A server that the test left stopped goes with its data.
		_, _ = s.query("DROP SCHEMA IF EXISTS " + name + " CASCADE")
	})
	return name
}

// Exec runs statements as the superuser, each on its own.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := s.query(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// Value runs a query as the superuser and returns its first value as text, or ""
// when it has no row.
func (s *Server) Value(t testing.TB, sql string) string {
	t.Helper()
	v, err := s.query(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (s *Server) query(sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgconn.Connect(ctx, s.URL(""))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return "", err
	}
	for _, r := range results {
		if len(r.Rows) > 0 && len(r.Rows[0]) > 0 {
			return string(r.Rows[0][0]), nil
		}
	}
	return "", nil
}

// Terminate ends every other client's connection whose row in pg_stat_activity
// satisfies the condition, and returns how many there were.
func (s *Server) Terminate(t testing.TB, condition string) int {
	t.Helper()
	n, err := strconv.Atoi(s.Value(t, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND (`+condition+`)`))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Crash kills one of the server's processes with SIGKILL: the server ends all
// others, recovers and goes on under the same postmaster.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	pid, err := strconv.Atoi(s.Value(t, `SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'`))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// CPU is how much processor time the server's processes of now have taken, where the
// system tells (Linux); otherwise 0.
func (s *Server) CPU() time.Duration {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil {
		return 0
	}
	const tick = 10 * time.Millisecond
	var sum time.Duration
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may have spaces.
		_, rest, _ := strings.Cut(string(data), ") ")
		f := strings.Fields(rest)
		if len(f) < 13 || f[1] != strconv.Itoa(p.pid) && filepath.Base(filepath.Dir(name)) != strconv.Itoa(p.pid) {
			continue
		}
		for _, ticks := range f[11:13] {
			n, _ := strconv.ParseInt(ticks, 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
