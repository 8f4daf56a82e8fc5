package tokens

import (
	_ "embed"
	"math"
)

// vocabulary is that of o200k_base as a hash table that is used where it lies, in the pages of
// the program's file: where each bucket starts, in four bytes, and behind that the tokens of
// each bucket with their length in one byte and their rank in three. It is OpenAI's, under the
// MIT licence; a test writes it from package codec of github.com/tiktoken-go/tokenizer.
//
//go:embed o200k_base.vocabulary
var vocabulary string

const (
	// buckets have three tokens on average.
	buckets = 1 << 16
	// longestToken of the vocabulary, in bytes.
	longestToken = 128
	noRank       = math.MaxUint32
)

func number(at int) int {
	return int(vocabulary[at]) | int(vocabulary[at+1])<<8 | int(vocabulary[at+2])<<16 | int(vocabulary[at+3])<<24
}

// rank is the rank of a token; false: the text is none.
func rank(text string) (uint32, bool) {
	if len(text) == 0 || len(text) > longestToken {
		return noRank, false
	}
	at := 4 * int(bucketOf(text))
	for from, to := number(at), number(at+4); from < to; {
		n := int(vocabulary[from])
		if n == len(text) && vocabulary[from+4:from+4+n] == text {
			return uint32(number(from)) >> 8, true
		}
		from += 4 + n
	}
	return noRank, false
}

// bucketOf is FNV-1a, folded.
func bucketOf(text string) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return (h ^ h>>16) % buckets
}
