// Package grant lets toolsets call private addresses: it keeps who granted what, puts it in
// force at the dialer of this node, and says which addresses an operator named in passing.
// What else may be dialed decides internal/safedial.
package grant
