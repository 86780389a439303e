package program

import (
	"bufio"
	"io"
)

// lines cuts a stream into lines without ever holding more than a line's limit.
type lines struct {
	in   *bufio.Reader
	most int
	buf  []byte
}

func newLines(in io.Reader, most int) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), most: most}
}

// next returns the next line without its newline, and its full length. Of a line
// longer than the limit only the beginning is kept. The last line need not end in a
// newline. The bytes are good until the next call. Any error but io.EOF may come
// with a line that was cut short, which is dropped.
func (l *lines) next() (line []byte, length int, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		length += len(part)
		if room := l.most + 1 - len(l.buf); room > 0 {
			l.buf = append(l.buf, part[:min(room, len(part))]...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && length > 0:
			return l.buf[:min(length, l.most)], length, nil
		case err != nil:
			return nil, 0, err
		}
		length--
		return l.buf[:min(length, l.most)], length, nil
	}
}
