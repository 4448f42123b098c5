package webhookverify

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Sign returns the headers with which a sender of this scheme would deliver a
// body: for tests of a receiver, and for tools that send test events. The id and
// the time are for schemes that sign them, and are left out of the others.
//
// Headers that are not signed, such as X-Botix-Event, are the caller's to add.
func (s Scheme) Sign(secret Secret, id string, at time.Time, body []byte) (http.Header, error) {
	compiled, err := s.compile()
	if err != nil {
		return nil, err
	}
	return compiled.sign(secret, id, at, body)
}

func (s *scheme) sign(secret Secret, id string, at time.Time, body []byte) (http.Header, error) {
	material, err := s.material(secret)
	if err != nil {
		return nil, fmt.Errorf("webhookverify: %s: the secret %w", s.Name, err)
	}
	header, claim, prefix := http.Header{}, claim{}, ""
	if s.IDHeader != "" {
		if !s.isID(id) || trim(id) != id || len(id) > maxHeader {
			return nil, fmt.Errorf("webhookverify: %s: %q cannot be the id of a message", s.Name, id)
		}
		claim.id = id
		header.Set(s.IDHeader, id)
	}
	if s.signsTime {
		stamp := at.Unix()
		if s.TimestampUnit == time.Millisecond {
			stamp = at.UnixMilli()
		}
		if stamp < 0 {
			return nil, fmt.Errorf("webhookverify: %s: the time of signing is before 1970", s.Name)
		}
		claim.timestamp = strconv.FormatInt(stamp, 10)
		if s.TimestampHeader != "" {
			header.Set(s.TimestampHeader, claim.timestamp)
		} else {
			prefix = s.TimestampPrefix + claim.timestamp + s.Separator
		}
	}
	m := s.newKey(material).mac()
	m.begin(s, &claim)
	m.Write(body)
	signature := s.encode(m.end(s, &claim))
	if !s.PrefixOptional {
		prefix += s.Prefix
	}
	header.Set(s.SignatureHeader, prefix+signature)
	return header, nil
}

func (s *scheme) encode(sum []byte) string {
	if s.Encoding == Base64 {
		return base64.StdEncoding.EncodeToString(sum)
	}
	return hex.EncodeToString(sum)
}
