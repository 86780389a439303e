package draw

import (
	"fmt"
	"io"
	"slices"
)

// Sizes of a timeline in pixels.
const (
	storyWidth  = 960
	storyEdge   = 12
	clockWidth  = 54
	machineRoom = 205
	laneLeast   = 112
	laneMost    = 250
	textFrom    = 24 // of a lane's left edge
	markStep    = 9  // between marks of different lanes
	bandHead    = 26
)

var (
	storyFont = font{11, false}
	storyBold = font{11, true}
	bandFont  = font{13, true}
	clockFont = font{10, false}
)

// storyLook is what a timeline adds to the palette. Lanes take the colours in turn.
var storyLook = struct{ light, dark []string }{
	light: []string{
		".band{fill:#f6f8fa;stroke:#d1d9e0}", ".head{fill:#e6eaef}", ".guide{stroke:#d1d9e0}",
		".bar{opacity:.35}", ".spine{stroke:#6e7781;stroke-width:1.5;fill:none}", ".ink{fill:#6e7781}",
		".bad{fill:#cf222e}", ".good{fill:#1a7f37}", ".on{stroke:#fff;stroke-width:1.5;fill:none}",
		".yes{stroke:#1a7f37;stroke-width:1.8;fill:none}", ".no{stroke:#cf222e;stroke-width:1.8;fill:none}",
		".open{fill:#f6f8fa;stroke:#6e7781;stroke-width:1.5}",
		".a0{fill:#0969da}", ".a1{fill:#8250df}", ".a2{fill:#9a6700}", ".a3{fill:#0f766e}", ".a4{fill:#bf3989}", ".a5{fill:#57606a}",
	},
	dark: []string{
		".band{fill:#151b23;stroke:#3d444d}", ".head{fill:#262c36}", ".guide{stroke:#3d444d}",
		".spine{stroke:#8b949e}", ".ink{fill:#8b949e}",
		".bad{fill:#f85149}", ".good{fill:#3fb950}", ".on{stroke:#0d1117}",
		".yes{stroke:#3fb950}", ".no{stroke:#f85149}",
		".open{fill:#151b23;stroke:#8b949e}",
		".a0{fill:#4493f8}", ".a1{fill:#a371f7}", ".a2{fill:#d29922}", ".a3{fill:#2dd4bf}", ".a4{fill:#db61a2}", ".a5{fill:#9198a1}",
	},
}

// tale is a story as placed.
type tale struct {
	lanes []*track
	marks []*placed
	bands []*placed
	timed bool
	w, h  int
	// body is where the first mark may stand.
	body  int
	title []string
}

// track is a lane as placed: the machine's is the first.
type track struct {
	name string
	x, w int
	// bottom is where the lane is free again.
	bottom int
	bars   []*bar
}

// bar is a summons in its lane; it is open while nothing has ended it.
type bar struct {
	from, to int
	open     bool
}

// placed is a mark with its place and its lines.
type placed struct {
	Mark
	track *track
	y     int
	lines []string
	// end is where its own lines end.
	end int
	// close is where a band ends; agents are the lanes with marks on it.
	close  int
	agents []*track
	guards [][]string
	// clock is set where the time is worth a label.
	clock string
}

// Timeline draws a run as lanes beside each other, with time going down. The picture
// is narrow enough for a page and as long as the run.
func Timeline(w io.Writer, s Story) error {
	t := tell(s)
	c := &canvas{}
	c.open(t.w, t.h, clean(s.Title), storyLook.light, storyLook.dark)
	for i, line := range t.title {
		c.text(storyEdge+4, storyEdge+i*titleFont.line()+baseline(titleFont), "", titleFont, "", line)
	}
	t.drawBands(c)
	c.text(t.lanes[0].x+10, t.body-storyFont.line()-6+baseline(storyBold), "m", storyBold, "", "machine")
	for i := range t.lanes[1:] {
		t.drawName(c, i, t.body-storyFont.line()-6)
	}
	for i, lane := range t.lanes {
		for _, b := range lane.bars {
			c.printf(`<rect class="bar a%d" x="%d" y="%d" width="8" height="%d" rx="4"/>`, (i+5)%6, lane.x+7, b.from, max(8, b.to-b.from))
		}
	}
	t.drawSpine(c)
	for _, p := range t.marks {
		t.draw(c, p)
	}
	return c.finish(w)
}

// tell places a story. A mark stands below the one before it and below what stands in
// its lane; a band below everything.
func tell(s Story) *tale {
	t := &tale{title: titleFont.wrap(s.Title, storyWidth-60, 2)}
	names := slices.Clone(s.Lanes)
	for _, m := range s.Marks {
		if lane := m.lane(); lane != "" && !slices.Contains(names, lane) {
			names = append(names, lane)
		}
		t.timed = t.timed || m.At > 0
	}
	t.columns(names)
	y := storyEdge
	if len(t.title) > 0 {
		y += len(t.title)*titleFont.line() + 8
	}
	y += storyFont.line() + 6
	t.body = y
	for _, lane := range t.lanes {
		lane.bottom = y
	}
	y -= markStep
	var band *placed
	lastClock, clockBottom := "", 0
	for _, m := range s.Marks {
		p := &placed{Mark: m, track: t.track(m.lane())}
		if m.Kind == Band {
			floor := t.floor()
			if band != nil {
				band.close = floor + 4
				floor += 18
			} else if len(t.marks) > 0 {
				floor += 8
			}
			band = p
			t.bands = append(t.bands, p)
			p.y, p.end = floor, floor+bandHead
			for _, lane := range t.lanes {
				lane.bottom = p.end + 6
			}
			y = p.end + 6 - markStep
		} else {
			p.y = max(y+markStep, p.track.bottom)
			p.measure()
			y = p.y
			p.track.bottom = p.end + 4
			p.track.mark(p)
			if band != nil {
				band.agents = append(band.agents, p.track)
			}
		}
		if t.timed {
			if now := clock(m.At); now != lastClock && p.y >= clockBottom {
				p.clock, lastClock, clockBottom = now, now, p.y+clockFont.line()
			}
		}
		t.marks = append(t.marks, p)
	}
	floor := t.floor()
	for _, lane := range t.lanes {
		for _, b := range lane.bars {
			if b.open {
				b.to = floor
			}
		}
	}
	if band != nil {
		band.close = floor + 4
		floor += 4
	}
	t.h = floor + storyEdge
	return t
}

// lane is where a mark stands.
func (m Mark) lane() string {
	switch m.Kind {
	case Band, Clear, Fire, End:
		return ""
	}
	return m.Lane
}

// columns shares the width among the lanes.
func (t *tale) columns(names []string) {
	x := storyEdge
	if t.timed {
		x += clockWidth
	}
	t.lanes = []*track{{x: x, w: machineRoom}}
	x += machineRoom
	if len(names) > 0 {
		w := min(laneMost, max(laneLeast, (storyWidth-storyEdge-x)/len(names)))
		for _, name := range names {
			t.lanes = append(t.lanes, &track{name: name, x: x, w: w})
			x += w
		}
	}
	t.w = max(x, min(storyWidth-storyEdge, titleFont.widest(t.title)+2*storyEdge)) + storyEdge
}

// track is the lane with a name.
func (t *tale) track(name string) *track {
	for _, lane := range t.lanes[1:] {
		if name != "" && lane.name == name {
			return lane
		}
	}
	return t.lanes[0]
}

// floor is where every lane is free.
func (t *tale) floor() int {
	y := 0
	for _, lane := range t.lanes {
		y = max(y, lane.bottom)
	}
	return y
}

// mark lets a mark begin or end a bar of its lane.
func (k *track) mark(p *placed) {
	var last *bar
	if n := len(k.bars); n > 0 && k.bars[n-1].open {
		last = k.bars[n-1]
	}
	switch {
	case p.Kind == Begin && last == nil:
		k.bars = append(k.bars, &bar{from: p.y, open: true})
	case (p.Kind == Finish || p.Kind == Fail) && last != nil:
		last.to, last.open = p.y+8, false
	}
}

// measure breaks a mark's texts into lines.
func (p *placed) measure() {
	text := p.words()
	// Bold letters are wider than those that wrap measures.
	room := p.track.w - textFrom - 6
	room -= min(room/4, storyBold.width(clean(p.Label))*8/100)
	if text != "" {
		p.lines = storyFont.wrap(text, room, 4)
	}
	y := p.y + max(14, len(p.lines)*storyFont.line())
	for _, g := range p.Guards {
		lines := storyFont.wrap(g.Text, p.track.w-textFrom-20, 3)
		p.guards = append(p.guards, lines)
		y += max(1, len(lines)) * storyFont.line()
	}
	p.end = y
}

// words is a mark's text with its label in front.
func (p *placed) words() string {
	label, text := clean(p.Label), clean(p.Text)
	switch {
	case p.Kind == Fire && label != "":
		label = "→ " + label
		if text == "" {
			return label
		}
		return label + " " + text
	case label == "":
		return text
	case text == "":
		return label
	}
	return label + ": " + text
}

// drawBands draws what the marks stand on.
func (t *tale) drawBands(c *canvas) {
	x := t.lanes[0].x
	w := t.w - storyEdge - x
	for _, p := range t.bands {
		c.printf(`<rect class="band" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, p.y, w, p.close-p.y)
		c.printf(`<path class="head" d="M%d %dv-%dq0 -6 6 -6h%dq6 0 6 6v%dz"/>`, x, p.y+bandHead-4, bandHead-10, w-12, bandHead-10)
		for _, lane := range t.lanes[1:] {
			c.printf(`<path class="guide" d="M%d %dV%d"/>`, lane.x, p.y+bandHead, p.close-6)
		}
		label := bandFont.wrap(p.Label, machineRoom-24, 1)
		text := storyFont.wrap(p.Text, max(20, machineRoom-30-bandFont.widest(label)), 1)
		at := x + 10
		for _, s := range label {
			c.text(at, p.y+16, "", bandFont, "", s)
			at += bandFont.width(s) + 6
		}
		for _, s := range text {
			c.text(at, p.y+16, "m", storyFont, "", s)
		}
		// Who takes part is named again, since a long picture scrolls.
		for i, lane := range t.lanes[1:] {
			if slices.Contains(p.agents, lane) {
				t.drawName(c, i, p.y+4)
			}
		}
	}
}

// drawName names the lane of an agent.
func (t *tale) drawName(c *canvas, agent, y int) {
	lane := t.lanes[1+agent]
	for _, s := range storyBold.wrap(lane.name, lane.w-14, 1) {
		c.text(lane.x+7, y+baseline(storyBold), fmt.Sprintf("a%d", agent%6), storyBold, "", s)
	}
}

// drawSpine joins the machine's marks, and each transition with the state it led to.
func (t *tale) drawSpine(c *canvas) {
	var before *placed
	x := t.lanes[0].x + 11
	for _, p := range t.marks {
		if p.track != t.lanes[0] {
			continue
		}
		if before != nil {
			from, to := before.y+7, p.y+7
			if before.Kind == Band {
				from = before.end
			}
			if p.Kind == Band {
				to = p.y
			}
			c.printf(`<path class="spine" d="M%d %dV%d"/>`, x, from, to)
			if p.Kind == Band && before.Kind != Band {
				c.printf(`<path class="ink" d="M%d %dl-4 -7h8z"/>`, x, p.y)
			}
		}
		before = p
	}
}
