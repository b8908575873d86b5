// SPDX-License-Identifier: Apache-2.0

// Runs the table of cases with deploy/clients/delaybridge.go: cases CASES
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"clients/delaybridge"
)

func line(headers []delaybridge.Header, err error) (string, error) {
	parts := []string{}
	for _, h := range headers {
		value := string(h.Value)
		if h.Value == nil {
			value = "null"
		}
		parts = append(parts, h.Key+"="+value)
	}
	return strings.Join(parts, " "), err
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func fields(text string) delaybridge.Request {
	var r delaybridge.Request
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "delay":
			r.Delay = time.Duration(number(value)) * time.Millisecond
		case "at":
			r.At = time.UnixMilli(number(value))
		case "expires":
			r.ExpiresAt = time.UnixMilli(number(value))
		case "target":
			r.Target = value
		case "id":
			r.ID = value
		case "key":
			key := []byte(value)
			if value == "null" {
				key = nil
			}
			r.Key = &key
		}
	}
	return r
}

func result(kind, text string) (string, error) {
	switch kind {
	case "format":
		return delaybridge.FormatDelayMs(number(text))
	case "parse":
		ms, err := delaybridge.ParseDelay(text)
		return strconv.FormatInt(ms, 10), err
	case "instant":
		return delaybridge.FormatInstantMs(number(text))
	case "id":
		return "ok", delaybridge.CheckID(text)
	case "target":
		return "ok", delaybridge.CheckTarget(text)
	case "cancel":
		return line(delaybridge.Cancel(fields(text).ID))
	case "replace":
		return line(delaybridge.Replace(fields(text)))
	}
	return line(delaybridge.Schedule(fields(text)))
}

func main() {
	table, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	faults := 0
	expect := func(what, got, want string) {
		if got != want {
			faults++
			fmt.Printf("%s: %s, not %s\n", what, got, want)
		}
	}
	for _, row := range strings.Split(strings.TrimSuffix(string(table), "\n"), "\n") {
		columns := strings.Split(row, "\t")
		got, err := result(columns[0], columns[1])
		if err != nil {
			got = "error"
		}
		expect(columns[0]+" "+columns[1], got, columns[2])
	}
	// What the table cannot write.
	got, err := delaybridge.FormatDelay(1500 * time.Microsecond)
	expect("a fraction of a delay", fmt.Sprint(got, " ", err), "2ms <nil>")
	got, err = delaybridge.FormatInstant(time.Date(2026, 11, 21, 0, 0, 0, 250_000_001, time.UTC))
	expect("a fraction of an instant", fmt.Sprint(got, " ", err), "1795219200251 <nil>")
	_, err = delaybridge.Schedule(delaybridge.Request{})
	expect("neither time", fmt.Sprint(err), "give either Delay or At")
	_, err = delaybridge.Schedule(delaybridge.Request{Delay: 1, At: time.Now()})
	expect("both times", fmt.Sprint(err), "give either Delay or At")
	if faults > 0 {
		os.Exit(1)
	}
}
