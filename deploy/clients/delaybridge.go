// SPDX-License-Identifier: Apache-2.0

// Package delaybridge has the headers of Delaybridge requests, checked before they are sent. Copy
// this file. It needs no client: a Header converts to that of franz-go (kgo.RecordHeader), sarama
// and confluent-kafka-go have the same two fields.
//
//	headers, err := delaybridge.Schedule(delaybridge.Request{Delay: 15 * time.Minute, Target: "orders.timeout"})
//	for _, h := range headers {
//		record.Headers = append(record.Headers, kgo.RecordHeader(h))
//	}
package delaybridge

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

const (
	// Of requests.
	HeaderDelay     = "dlb-delay"
	HeaderDeliverAt = "dlb-deliver-at"
	HeaderTarget    = "dlb-target"
	HeaderKey       = "dlb-key"
	HeaderID        = "dlb-id"
	HeaderOp        = "dlb-op"
	HeaderExpiresAt = "dlb-expires-at"
	// Of deliveries, and of dead letters.
	HeaderDue       = "dlb-due"
	HeaderSource    = "dlb-source"
	HeaderError     = "dlb-error"
	HeaderReason    = "dlb-reason"
	HeaderSentAt    = "dlb-sent-at"
	HeaderFailedAt  = "dlb-failed-at"
	HeaderTruncated = "dlb-truncated"
)

// Header is a header of a record. A nil Value is a null value.
type Header struct {
	Key   string
	Value []byte
}

// Request has the fields of a request. Its zero values are not written.
type Request struct {
	Delay     time.Duration // counted from the timestamp of the record; above zero, or use At
	At        time.Time     // when to deliver, in place of Delay; a past time is delivered at once
	Target    string        // the topic to deliver to; "": default_target
	Key       *[]byte       // key of the delivered record; nil: that of the request; &nil: a null key
	ID        string        // the name of the request, 1 to 128 bytes; "": none
	ExpiresAt time.Time     // deliver before this time, or not at all; zero: never expires
}

const instantMin = 100_000_000_000

var (
	units = []struct {
		name string
		ms   int64
	}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}}
	delayText = regexp.MustCompile(`^(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?$`)
	topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
)

// FormatDelay returns a delay as text: 90 seconds are 1m30s. A fraction of a millisecond is rounded
// up.
func FormatDelay(delay time.Duration) (string, error) {
	ms := delay.Milliseconds()
	if delay%time.Millisecond > 0 {
		ms++
	}
	return FormatDelayMs(ms)
}

// FormatDelayMs returns a delay in milliseconds as text.
func FormatDelayMs(ms int64) (string, error) {
	if ms < 0 {
		return "", fmt.Errorf("a delay is not negative: %dms", ms)
	}
	text := ""
	for _, unit := range units {
		if n := ms / unit.ms; n > 0 {
			text += strconv.FormatInt(n, 10) + unit.name
		}
		ms %= unit.ms
	}
	if text == "" {
		text = "0s"
	}
	return text, nil
}

// ParseDelay returns the milliseconds of a text such as 1h30m or 250ms.
func ParseDelay(text string) (int64, error) {
	found := delayText.FindStringSubmatch(text)
	var sum int64
	for i, unit := range units {
		if found == nil || text == "" {
			return 0, fmt.Errorf("not a delay such as 250ms, 15m or 1h30m: %q", text)
		}
		if found[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(found[i+1], 10, 64)
		if err != nil || n > (math.MaxInt64-sum)/unit.ms {
			return 0, fmt.Errorf("a delay of more than 64 bits: %q", text)
		}
		sum += n * unit.ms
	}
	return sum, nil
}

// FormatInstant returns a time as text, in epoch milliseconds. A fraction of a millisecond is
// rounded up.
func FormatInstant(at time.Time) (string, error) {
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) > 0 {
		ms++
	}
	return FormatInstantMs(ms)
}

// FormatInstantMs returns epoch milliseconds as text.
func FormatInstantMs(ms int64) (string, error) {
	if ms < instantMin {
		return "", fmt.Errorf("not an instant in epoch milliseconds (seconds by mistake?): %d", ms)
	}
	return strconv.FormatInt(ms, 10), nil
}

// CheckTarget returns an error if the text is not a name of a topic.
func CheckTarget(target string) error {
	if !topicName.MatchString(target) || target == "." || target == ".." {
		return fmt.Errorf("not a topic name: %q", target)
	}
	return nil
}

// CheckID returns an error if the text is not 1 to 128 bytes long.
func CheckID(id string) error {
	if len(id) < 1 || len(id) > 128 {
		return fmt.Errorf("not an id of 1 to 128 bytes: %q", id)
	}
	return nil
}

// Schedule returns the headers of a request.
func Schedule(r Request) ([]Header, error) {
	var headers []Header
	var text string
	var err error
	switch {
	case (r.Delay != 0) == !r.At.IsZero():
		return nil, fmt.Errorf("give either Delay or At")
	case r.Delay != 0:
		text, err = FormatDelay(r.Delay)
		headers = append(headers, Header{HeaderDelay, []byte(text)})
	default:
		text, err = FormatInstant(r.At)
		headers = append(headers, Header{HeaderDeliverAt, []byte(text)})
	}
	if err == nil && r.Target != "" {
		err = CheckTarget(r.Target)
		headers = append(headers, Header{HeaderTarget, []byte(r.Target)})
	}
	if r.Key != nil {
		headers = append(headers, Header{HeaderKey, *r.Key})
	}
	if err == nil && r.ID != "" {
		err = CheckID(r.ID)
		headers = append(headers, Header{HeaderID, []byte(r.ID)})
	}
	if err == nil && !r.ExpiresAt.IsZero() {
		text, err = FormatInstant(r.ExpiresAt)
		headers = append(headers, Header{HeaderExpiresAt, []byte(text)})
	}
	if err != nil {
		return nil, err
	}
	return headers, nil
}

// Replace returns the headers of a request that cancels older ones of its name. The record needs
// the key of the older request.
func Replace(r Request) ([]Header, error) {
	headers, err := Schedule(r)
	if err != nil {
		return nil, err
	}
	return append([]Header{{HeaderOp, []byte("replace")}}, headers...), nil
}

// Cancel returns the headers of a cancel. The record needs the key of its request, and the id if the
// request has one ("": none).
func Cancel(id string) ([]Header, error) {
	headers := []Header{{HeaderOp, []byte("cancel")}}
	if id == "" {
		return headers, nil
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	return append(headers, Header{HeaderID, []byte(id)}), nil
}
