//go:build unix

package program

import (
	"os"
	"syscall"
)

func terminateGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// ending says how a program ended: its status, or -1 and the signal's name.
func ending(s *os.ProcessState) (status int, signal string) {
	if s == nil {
		return -1, ""
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal().String()
	}
	return s.ExitCode(), ""
}
