package wire

// Graph is a picture as data: what to draw, not how. internal/draw turns it into
// SVG, Mermaid or DOT.
type Graph struct {
	Title string `json:"title,omitempty"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is one box.
type Node struct {
	ID    string   `json:"id"`
	Label string   `json:"label"`
	Lines []string `json:"lines,omitempty"`
	// Role chooses the look: "start", "end", "current", "refused" or "" for plain.
	Role string `json:"role,omitempty"`
}

// Edge is one arrow.
type Edge struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Label string   `json:"label,omitempty"`
	Lines []string `json:"lines,omitempty"`
	// Count is how often the edge was taken, where the graph shows a run.
	Count int `json:"count,omitempty"`
}
