package slate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/slate-agents/slate"
)

// stays is the environment variable that makes this test binary a process that opens
// a folder, writes and stays until it is killed.
const stays = "SLATE_TEST_STAYS"

// TestAProcessThatStays is that process's body.
func TestAProcessThatStays(t *testing.T) {
	data := os.Getenv(stays)
	if data == "" {
		return // it is another process's part
	}
	sys := opened(t, data)
	noted(t, sys, 5)
	os.Stdout.WriteString("written\n")
	select {}
}

// mark is the highest mark that a folder's authority record has.
func mark(t *testing.T, data string) int64 {
	t.Helper()
	content, err := os.ReadFile(data + ".authority")
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Stores map[string]struct{ Mark int64 }
	}
	if err := json.Unmarshal(content, &record); err != nil {
		t.Fatal(err)
	}
	var highest int64
	for _, s := range record.Stores {
		highest = max(highest, s.Mark)
	}
	return highest
}

// TestALogThatWasDeletedIsMissed kills a process whose writes are still in the
// write-ahead log alone, and deletes the log: what it had is gone, and that is said.
func TestALogThatWasDeletedIsMissed(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	closed(t, opened(t, data)) // the tables are in the file itself
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAProcessThatStays$")
	cmd.Env = append(os.Environ(), stays+"="+data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
		t.Fatalf("the process said %q, %v", line, err)
	}
	for deadline := time.Now().Add(30 * time.Second); mark(t, data) < 5; {
		if time.Now().After(deadline) {
			t.Fatalf("the record has mark %d after 30 s", mark(t, data))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait() == nil {
		t.Fatal("the process ended by itself")
	}
	if err := os.Remove(filepath.Join(data, slate.DatabaseFile+"-wal")); err != nil {
		t.Fatal(err)
	}
	sys := opened(t, data)
	defer closed(t, sys)
	if r := sys.Restored(); r == nil || r.Epoch != 2 {
		t.Fatalf("nothing was missed: %+v", r)
	}
	noted(t, sys, 1)
}
