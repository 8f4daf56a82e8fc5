package tokens

// Costs in hundredths of a token by length in bytes (index; the last one is also
// the start for what is longer). They are means over recorded answers of public
// APIs, pretty-printed and minified, made once; the fit is described in
// docs/tokens.md. Index 0 is not used.
var (
	// a lower-case word with nothing before it
	bare = [17]uint16{0, 100, 100, 101, 101, 106, 117, 116, 133, 142, 160, 145, 150, 124, 242, 233, 235}
	// Title with nothing before it
	title = [17]uint16{0, 100, 114, 163, 138, 136, 131, 118, 143, 127, 108, 140, 110, 193, 201, 209, 217}
	// any word after a blank
	afterBlank = [17]uint16{0, 100, 100, 100, 101, 102, 109, 116, 114, 122, 121, 114, 126, 173, 149, 132, 150}
	// any word after an underscore
	afterUnderscore = [17]uint16{0, 100, 102, 102, 103, 109, 116, 117, 135, 156, 182, 146, 167, 229, 243, 251, 259}
	// any word after one other symbol
	afterSymbol = [17]uint16{0, 109, 135, 120, 162, 152, 154, 202, 223, 247, 244, 225, 321, 286, 300, 301, 304}
	// ALL capitals
	capitals = [17]uint16{0, 100, 132, 145, 132, 166, 208, 160, 251, 256, 283, 352, 301, 315, 323, 331, 339}
	// several capitals, then lower case: as in base64
	mixed = [17]uint16{0, 100, 108, 204, 236, 302, 359, 395, 445, 509, 521, 565, 585, 595, 604, 625, 633}
	// letters that touch a digit
	random = [17]uint16{0, 100, 115, 184, 223, 276, 333, 309, 318, 380, 342, 336, 470, 557, 584, 592, 600}
	// punctuation
	marks = [13]uint16{0, 100, 100, 101, 153, 182, 173, 299, 286, 360, 368, 386, 394}
)

// Costs beyond the tables.
const (
	longLetter = 40 // a letter of a run longer than its table, as in hashes and base64
	longMark   = 25 // a symbol of a long run: rulers and frames merge well

	costLatin     = 60
	costTwoByte   = 40
	costThreeByte = 75
	costFourByte  = 230

	// maxRun caps the part of one run that is counted, so that the 32-bit cost of
	// one piece cannot overflow: 2^32 / longLetter is above this.
	maxRun = 64 << 20
)
