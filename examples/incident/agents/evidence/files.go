package evidence

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Dir is the folder of the files under examination: INCIDENT_DATA.
func Dir() (string, error) {
	dir := os.Getenv("INCIDENT_DATA")
	if dir == "" {
		return "", errors.New("INCIDENT_DATA does not name the folder of the files")
	}
	return dir, nil
}

// LogLine is one message of a server's log.
type LogLine struct {
	Ref
	PID int
	App string
	// Level is LOG, ERROR, FATAL, PANIC, DETAIL and so on.
	Level   string
	Message string
}

var logForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[(\d+)\] app=(.*?) user=\S* ([A-Z0-9]+): +(.*)$`)

// ReadLog reads a server's log. A line in another form continues the one before it
// and is passed over.
func ReadLog(dir, name string) ([]LogLine, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var lines []LogLine
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		m := logForm.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse("2006-01-02 15:04:05.000", m[1])
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(m[2])
		lines = append(lines, LogLine{Ref: Ref{File: name, Line: n, At: at}, PID: pid, App: m[3], Level: m[4], Message: m[5]})
	}
	return lines, in.Err()
}

// Row is one row of a table.
type Row struct {
	Ref
	cells map[string]string
}

// Get returns a cell by its column's name.
func (r Row) Get(column string) string { return r.cells[column] }

// Number returns a cell as a number; ok is false when it holds none.
func (r Row) Number(column string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(r.cells[column], 64)
	return n, err == nil
}

// ReadTable reads a CSV file whose first row names its columns. A column named ts
// gives the rows their time.
func ReadTable(dir, name string) ([]Row, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	in := csv.NewReader(f)
	in.FieldsPerRecord = -1
	var head []string
	var rows []Row
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if head == nil {
			head = record
			continue
		}
		line, _ := in.FieldPos(0)
		row := Row{Ref: Ref{File: name, Line: line}, cells: map[string]string{}}
		for i, cell := range record[:min(len(record), len(head))] {
			row.cells[head[i]] = cell
		}
		if ts, ok := row.cells["ts"]; ok {
			if row.At, err = time.Parse(time.RFC3339, ts); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
}
