//go:build unix && !linux

package program

import (
	"os"
	"syscall"
)

// attributes: a group of its own. These systems cannot tie a program's life to
// Slate's: one that does not read its standard input may outlive a killed Slate.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns false: there is no portable way to wait without reaping.
func awaitExit(*os.Process) bool { return false }
