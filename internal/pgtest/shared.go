package pgtest

import (
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns the test binary's server, which its first caller starts.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = create(nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Main runs the tests and then stops the shared server. It returns the exit status.
func Main(m *testing.M) int {
	status := m.Run()
	if shared.server != nil {
		shared.server.remove()
	}
	return status
}

// unprivileged is who runs the server when the tests run as root, which PostgreSQL
// refuses to run as; nil means whoever runs the tests.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor nobody to run it as")
}
