package lockfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, held, err := Try(path)
	if err != nil || !held {
		t.Fatalf("first: %v, %v", held, err)
	}
	if _, held, err := Try(path); held || err != nil {
		t.Fatalf("second, while it is held: %v, %v", held, err)
	}
	unlock()
	unlock, err = Wait(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestAPlaceThatIsNotThereIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "lock")
	if _, err := Wait(path); err == nil {
		t.Error("Wait took it")
	}
	if _, _, err := Try(path); err == nil {
		t.Error("Try took it")
	}
}

// TestTheLockGoesWithItsProcess lets another process take the lock and die of a
// signal that it cannot handle.
func TestTheLockGoesWithItsProcess(t *testing.T) {
	if path := os.Getenv("LOCKFILE_HOLD"); path != "" {
		if _, err := Wait(path); err != nil {
			os.Exit(3)
		}
		os.Stdout.WriteString("held\n")
		select {}
	}
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestTheLockGoesWithItsProcess$")
	cmd.Env = append(os.Environ(), "LOCKFILE_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "held\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	if _, held, err := Try(path); held || err != nil {
		t.Fatalf("while the other process lives: %v, %v", held, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	unlock, err := Wait(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if cmd.Wait() == nil {
		t.Error("the other process ended by itself")
	}
}
