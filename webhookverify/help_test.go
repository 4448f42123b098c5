package webhookverify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"
)

// hmacSHA256 and the two below are how tests sign by hand.
func hmacSHA256(key, text string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func digits(sum []byte) string { return hex.EncodeToString(sum) }

func b64(sum []byte) string { return base64.StdEncoding.EncodeToString(sum) }

// clock stands still.
func clock(at time.Time) func() time.Time { return func() time.Time { return at } }
