package evidence

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestFactReadsAsItWasWritten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, f := range []Fact{
		{Kind: Observed, Topic: "refused-connections", Value: "12", Text: `12 refused: "sorry"`, Refs: []Ref{{"postgresql.log", 8, at}, {"postgresql.log", 9, at}}},
		{Kind: Configured, Topic: "limit", Value: "17", Text: "20 less 3", Refs: []Ref{{File: "settings.csv", Line: 3}}},
	} {
		got, ok := ParseFact(f.String())
		if !ok || !reflect.DeepEqual(got, f) {
			t.Errorf("%s read back as %+v, %v", f, got, ok)
		}
	}
	for _, s := range []string{"", "the pool is full", "observed a = 1: no place", "observed a = 1: x [file]", "observed a = 1: x [file:y]", "observed a = 1: x [file:1 noon]"} {
		if _, ok := ParseFact(s); ok {
			t.Errorf("%q was taken for a fact", s)
		}
	}
}

func TestHypothesisReadsAsItWasWritten(t *testing.T) {
	for _, h := range []Hypothesis{
		{Cause: "a", Text: "one: two", RestsOn: []string{"x", "y"}, AsksFor: []string{"z"}},
		{Cause: "unexplained", Text: "nothing fits"},
	} {
		got, ok := ParseHypothesis(h.String())
		if !ok || !reflect.DeepEqual(got, h) {
			t.Errorf("%s read back as %+v, %v", h, got, ok)
		}
	}
}

func TestReadersKeepTheLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, s string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log", "2026-01-02 03:04:05.678 UTC [7] app=a b user=u FATAL:  no\n\tmore\n2026-01-02 03:04:06.000 UTC [8] app= user= LOG:  yes\n")
	lines, err := ReadLog(dir, "log")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%v, %v", lines, err)
	}
	if l := lines[0]; l.Line != 1 || l.PID != 7 || l.App != "a b" || l.Level != "FATAL" || l.Message != "no" || Clock(l.At) != "2026-01-02T03:04:05.678Z" {
		t.Errorf("first line: %+v", l)
	}
	if l := lines[1]; l.Line != 3 || l.App != "" {
		t.Errorf("second line: %+v", l)
	}
	write("table", "ts,n,x\n2026-01-02T03:04:05Z,1.5,\"a\nb\"\n2026-01-02T03:04:06Z,,c\n")
	rows, err := ReadTable(dir, "table")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	if n, ok := rows[0].Number("n"); rows[0].Line != 2 || n != 1.5 || !ok {
		t.Errorf("first row: %+v", rows[0])
	}
	if _, ok := rows[1].Number("n"); rows[1].Line != 4 || ok || rows[1].Get("x") != "c" {
		t.Errorf("second row: %+v", rows[1])
	}
}
