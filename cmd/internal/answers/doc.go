// Package answers measures the text that agents read of API answers: it takes an answer
// through the response program that its specification gives, as a gateway does, counts
// the tokens of each form and compares the result with the original. A corpus of answers
// gives sums, answers to questions and a report. It calls no API and starts no node.
package answers
