// Package textfilter treats text that others wrote before an agent, a terminal or a
// record gets it: text of specifications, of MCP servers and of answers.
//
// It does two things. [Append] and [AppendJSON] remove characters that a person does
// not see and a model or a terminal obeys: control characters and ANSI escape
// sequences, Unicode tags, zero-width and bidirectional controls, private use
// characters. [Find] looks for sentences that are written for a model instead of for
// the reader of a description, such as "ignore previous instructions", and
// [FindAcross] for those that are split over several texts of a tool. They only
// report: what to do with such a text is decided by whoever asks.
//
// It is not a judge of meaning: a harmful instruction in words of its own is not
// found, and Find may report a harmless sentence. Secrets are not its concern (see
// gateway/credentials).
//
// In the flow it stands at both ends: plugins/openapi and plugins/connector apply it
// before a definition is stored, gateway/call before an answer leaves. Its functions
// are pure and safe for concurrent use.
//
// Standards: Unicode 17 (Default_Ignorable_Code_Point, UAX #44; bidirectional
// controls, UAX #9; emoji sequences, UTS #51), ECMA-48 control sequences, JSON
// RFC 8259.
package textfilter
