// Package answers measures what agents read of answers of APIs: it takes an answer
// through the response program that its specification gives, as a gateway does, counts
// the tokens of each form and compares what is left with what came. A corpus of answers
// gives sums, answers to questions and a report. It calls no API and starts no node.
package answers
