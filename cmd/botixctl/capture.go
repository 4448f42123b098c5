package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// capture is a delivery that was kept in files.
type capture struct {
	request, headers, body string // names of files
	lines                  []string
}

// declareCapture makes the flags that say where a delivery is.
func declareCapture(flags *flag.FlagSet) *capture {
	c := new(capture)
	flags.StringVar(&c.request, "request", "", "`file` with headers, an empty line and the body, as listen -save writes it; - is standard input")
	flags.StringVar(&c.headers, "headers", "", "`file` with a header in each line, as curl -D writes it")
	flags.Func("header", "a `header`, \"Name: value\"; may be given several times", func(line string) error {
		c.lines = append(c.lines, line)
		return nil
	})
	flags.StringVar(&c.body, "body", "-", "`file` with the body, byte for byte; - is standard input")
	return c
}

// read returns the delivery, and the length that its sender declared, -1 for none.
func (c *capture) read(t tool) (header http.Header, body []byte, declared int64, err error) {
	lines := c.lines
	if c.request != "" {
		all, err := t.readInput(c.request, maxInput)
		if err != nil {
			return nil, nil, 0, err
		}
		var head string
		if head, body, err = splitRequest(all); err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", c.request, err)
		}
		lines = append(lines, headLines(head)...)
	}
	if c.headers != "" {
		all, err := t.readInput(c.headers, maxInput)
		if err != nil {
			return nil, nil, 0, err
		}
		lines = append(lines, headLines(string(all))...)
	}
	if c.request == "" {
		if body, err = t.readInput(c.body, maxInput); err != nil {
			return nil, nil, 0, err
		}
	}
	header = http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.ContainsAny(name, " \t") || name == "" {
			return nil, nil, 0, fmt.Errorf("not a header: %q", brief(line, 60))
		}
		header.Add(name, strings.Trim(value, " \t"))
	}
	declared = -1
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
		declared = n
	}
	return header, body, declared, nil
}

// splitRequest takes a request apart at its first empty line. Whatever the lines
// end with, what follows is the body.
func splitRequest(all []byte) (head string, body []byte, err error) {
	for at := 0; ; {
		end := bytes.IndexByte(all[at:], '\n')
		if end < 0 {
			return "", nil, fmt.Errorf("no empty line divides headers and body")
		}
		if line := strings.TrimSuffix(string(all[at:at+end]), "\r"); line == "" {
			return string(all[:at]), all[at+end+1:], nil
		}
		at += end + 1
	}
}

// headLines are the headers in a text, without the line of a request or an answer
// above them, and without what follows an empty line.
func headLines(text string) (lines []string) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case i == 0 && (strings.HasPrefix(line, "HTTP/") || strings.Contains(line, " HTTP/1.") || strings.Contains(line, " HTTP/2")):
		case line == "":
			return lines
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
