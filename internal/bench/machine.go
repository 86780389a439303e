package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// machineFacts say on what the figures were measured.
type machineFacts struct {
	cpu, kernel string
	cores       int
	// load is how many processes wanted a processor in the five minutes before.
	load string
	// sync is what it takes to append 4 KiB to a file and wait for the disk.
	sync figures
}

// lookAtMachine asks the system, and the disk below dir.
func lookAtMachine(dir string) (machineFacts, error) {
	m := machineFacts{cores: runtime.NumCPU(), cpu: cpuModel()}
	var u syscall.Utsname
	if err := syscall.Uname(&u); err == nil {
		m.kernel = text(u.Sysname[:]) + " " + text(u.Release[:]) + " " + text(u.Machine[:])
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			m.load = fields[1]
		}
	}
	var err error
	m.sync, err = syncTime(filepath.Join(dir, "sync"))
	return m, err
}

func text(chars []int8) string {
	var s strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		s.WriteByte(byte(c))
	}
	return s.String()
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// syncTime appends 4 KiB and calls fdatasync, over and over.
func syncTime(path string) (figures, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	defer f.Close()
	page := make([]byte, 4096)
	var out figures
	for range 300 {
		begun := time.Now()
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(begun).Nanoseconds()))
	}
	return out, nil
}

// dependency is the version of a module that this program was built with.
func dependency(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "of an unknown version"
}

// resident is the memory of this process that is in use, in bytes.
func resident() (int64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}
