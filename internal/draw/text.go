package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// glyphs holds the widths of the printable ASCII characters, from space to tilde, in
// thousandths of the font size. They are those of the common sans fonts that browsers
// use for Helvetica and Arial, which agree on them.
var glyphs = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// slack is added to every measured width, in thousandths, for viewers that have none
// of the fonts the table was made for and fall back to a slightly wider one.
const slack = 60

// font is a size in pixels, bold or not.
type font struct {
	size int
	bold bool
}

// line is the distance from one line of text to the next.
func (f font) line() int { return f.size + (f.size+2)/4 }

// width is how many pixels wide a text will be at most, as far as can be told.
func (f font) width(s string) int {
	sum := 0
	for _, r := range s {
		sum += glyph(r)
	}
	sum = sum * f.size
	if f.bold {
		sum += sum * 7 / 100
	}
	sum += sum * slack / 1000
	return (sum + 999) / 1000
}

// glyph is the width of one character in thousandths of the font size.
func glyph(r rune) int {
	switch {
	case r >= ' ' && r <= '~':
		return glyphs[r-' ']
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 667
	case r >= 0x2000 && r < 0x2190:
		return 700
	}
	return 1050
}

// clean makes one line of any text: white space becomes single spaces, and characters
// that XML has no place for, or that would turn the direction of what follows, become
// the replacement character.
func clean(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		switch {
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069,
			r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF:
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escape makes cleaned text safe inside an XML element or a quoted attribute.
func escape(s string) string { return xmlEscaper.Replace(s) }

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// wrap cleans a text and breaks it into lines no wider than room, at spaces where there
// are any. What does not fit in most lines is cut, and the last line ends in an ellipsis.
func (f font) wrap(s string, room, most int) []string {
	var lines []string
	current := ""
	push := func() {
		if current != "" {
			lines = append(lines, current)
		}
		current = ""
	}
	for word := range strings.SplitSeq(clean(s), " ") {
		if len(lines) > most {
			break
		}
		joined := word
		if current != "" {
			joined = current + " " + word
		}
		if f.width(joined) <= room {
			current = joined
			continue
		}
		push()
		for f.width(word) > room && len(lines) <= most {
			cut := f.fit(word, room)
			lines = append(lines, word[:cut])
			word = word[cut:]
		}
		current = word
	}
	push()
	if len(lines) > most {
		lines = lines[:most]
		last := lines[most-1]
		for last != "" && f.width(last+"…") > room {
			_, n := utf8.DecodeLastRuneInString(last)
			last = last[:len(last)-n]
		}
		lines[most-1] = strings.TrimRight(last, " ") + "…"
	}
	return lines
}

// fit is how many bytes of a word fit in a room: at least one character, and where
// the last third of what fits holds a separator, up to behind that.
func (f font) fit(word string, room int) int {
	end := 0
	for i, r := range word {
		next := i + utf8.RuneLen(r)
		if end > 0 && glyph(r) > 0 && f.width(word[:next]) > room {
			break
		}
		end = next
	}
	if end == len(word) {
		return end
	}
	if at := strings.LastIndexAny(word[:end], "._-/,;:|&=()"); at+1 > end*2/3 {
		return at + 1
	}
	return end
}

// widest is the width of the widest line.
func (f font) widest(lines []string) int {
	w := 0
	for _, l := range lines {
		w = max(w, f.width(l))
	}
	return w
}
