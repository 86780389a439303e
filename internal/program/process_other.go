//go:build !unix

package program

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func awaitExit(*os.Process) bool { return false }

// There are no process groups here: only the program itself is ended, at once.
func terminateGroup(p *os.Process) { p.Kill() }

func killGroup(p *os.Process) { p.Kill() }

func ending(s *os.ProcessState) (status int, signal string) {
	if s == nil {
		return -1, ""
	}
	return s.ExitCode(), ""
}
