// Package redact removes likely secrets and personal data from texts: error samples and
// captured calls are kept for people to read, and nobody chose what is in them.
//
// It knows no secret and so it errs on the side of taking out: values beside names
// such as token and password, long runs of letters and digits, JSON Web Tokens,
// e-mail addresses, long numbers. Known secrets are taken out where they are known
// (gateway/credentials). Its functions are pure and safe for concurrent use.
package redact
