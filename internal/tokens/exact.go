package tokens

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Encoding is the name of the encoding that [Count] counts in.
const Encoding = "o200k_base"

// exact makes the codec once. Package codec is used instead of its parent
// because the parent refers to four vocabularies and the linker keeps them all.
var exact = sync.OnceValue(codec.NewO200kBase)

// Count returns the number of o200k_base tokens of b. Bytes that are not valid
// UTF-8 count as one U+FFFD for each byte. The text of special tokens, such as
// "<|endoftext|>", is counted as ordinary text. b is not kept.
func Count(b []byte) int { return CountString(string(b)) }

// CountString is [Count] of a string.
func CountString(s string) int {
	if s == "" {
		return 0
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	n, err := exact().Count(s)
	if err != nil {
		// The codec fails only for invalid UTF-8 in its strict mode and when its
		// regular expression has a time limit: neither is set.
		panic("BUG: tokens: " + err.Error())
	}
	return n
}
