package program

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: a group of its own, and death with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns true when the program has ended and is not reaped yet.
func awaitExit(p *os.Process) bool {
	for {
		if err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}
