package draw

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/slate-agents/slate/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares bytes with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got other bytes than the golden file; look at the picture, then run with -update", name)
	}
}

func TestGolden(t *testing.T) {
	graphs := map[string]wire.Graph{
		"incident": incident(), "run": incidentRun(), "tangle": tangle(),
	}
	for name, g := range graphs {
		var svg, mermaid, dot bytes.Buffer
		if err := SVG(&svg, g); err != nil {
			t.Fatal(err)
		}
		if err := Mermaid(&mermaid, g); err != nil {
			t.Fatal(err)
		}
		if err := DOT(&dot, g); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", svg.Bytes())
		golden(t, name+".mmd", mermaid.Bytes())
		golden(t, name+".dot", dot.Bytes())
	}
}
