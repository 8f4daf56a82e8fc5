package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// secretName is the name of a member that promises a secret.
var secretName = regexp.MustCompile(`(?i)` + secretWords)

// personalNames are the last words of names of members that hold what is personal, in
// lower case and without what separates words.
var personalNames = []string{
	"firstname", "lastname", "fullname", "givenname", "familyname", "middlename", "maidenname", "surname", "nickname", "displayname", "username", "login",
	"email", "phone", "phonenumber", "mobile", "telephone", "fax", "address", "addressline", "street", "postalcode", "postcode", "zip", "zipcode", "latitude", "longitude",
	"birthday", "birthdate", "dateofbirth", "dob", "gender", "nationality", "ssn", "passport", "passportnumber", "taxid", "iban", "accountnumber", "cardnumber", "creditcard",
}

// persons are members that hold a person.
var persons = []string{
	"user", "owner", "customer", "client", "author", "person", "contact", "member", "employee", "patient", "assignee", "reporter", "creator", "sender", "recipient", "guest",
}

// Document redacts documents of one set, so that what was the same in them stays the
// same: it numbers what it takes out. The zero Document takes out secrets. A Document is
// for one goroutine.
type Document struct {
	// Personal takes out what is personal too: values of members with names such as
	// email and last_name, e-mail addresses and long numbers anywhere.
	Personal bool
	// Redacted and Masked count the values that were taken out: secrets, and what is
	// personal.
	Redacted, Masked int

	secrets, people map[string]int
}

// Text returns s without secrets, of any length. Invalid UTF-8 is replaced.
func (d *Document) Text(s string) string {
	return replace(strings.ToValidUTF8(s, "\uFFFD"), d.Personal, d.mark)
}

// JSON returns a document without secrets: it has the members and the types that it had.
// It fails with a [jsonscan.SyntaxError].
func (d *Document) JSON(doc []byte) ([]byte, error) {
	v, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth)
	if err != nil {
		return nil, err
	}
	return d.value(nil, v, "", plain), nil
}

// How much of a value is taken out.
type extent byte

const (
	plain    extent = iota // what looks like it
	personal               // all of it is personal
	secret                 // all of it is a secret
)

// value appends what is left of v, which is in the member of a name.
func (d *Document) value(dst []byte, v jsonscan.Value, in string, e extent) []byte {
	switch v.Kind() {
	case jsonscan.Object:
		dst = append(dst, '{')
		mark := len(dst)
		person := d.person(v, in)
		for it := v.Members(); it.Next(); {
			name := string(it.KeyText(nil))
			if len(dst) > mark {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendStringOf(dst, d.Text(name))
			dst = d.value(append(dst, ':'), it.Value(), name, d.extent(name, person, e))
		}
		return append(dst, '}')
	case jsonscan.Array:
		dst = append(dst, '[')
		mark := len(dst)
		for it := v.Elements(); it.Next(); {
			if len(dst) > mark {
				dst = append(dst, ',')
			}
			dst = d.value(dst, it.Value(), in, e)
		}
		return append(dst, ']')
	case jsonscan.String:
		return jsonscan.AppendStringOf(dst, d.text(string(v.AppendText(nil)), e))
	case jsonscan.Number:
		switch e {
		case secret:
			d.Redacted++
			return append(dst, '0')
		case personal:
			d.Masked++
			return append(dst, '0')
		case plain:
		}
	case jsonscan.Bool, jsonscan.Null, jsonscan.Missing:
	}
	return append(dst, v.Raw()...)
}

func (d *Document) text(s string, e extent) string {
	switch {
	case s == "" || e == plain:
		return d.Text(s)
	case e == secret:
		return d.mark(aSecret, s)
	case email.FindString(s) == s:
		return d.mark(anEmail, s)
	}
	return d.mark(aNumber, s)
}

// extent is how much of the member of a name is taken out, of an object that is a person
// or not.
func (d *Document) extent(name string, person bool, e extent) extent {
	switch {
	case e == secret || secretName.MatchString(name):
		return secret
	case d.Personal && (person && word(name) == "name" || isPersonal(name)):
		return personal
	}
	return e
}

// person reports whether an object, in a member of a name, describes a person: by that
// name, or by a member that is personal. The name of a product stays.
func (d *Document) person(v jsonscan.Value, in string) bool {
	if !d.Personal {
		return false
	}
	for _, p := range persons {
		if w := word(in); strings.HasSuffix(w, p) || strings.HasSuffix(w, p+"s") {
			return true
		}
	}
	for it := v.Members(); it.Next(); {
		if isPersonal(string(it.KeyText(nil))) {
			return true
		}
	}
	return false
}

// word is a name in lower case, without what separates its words and without a number.
func word(name string) string {
	return strings.TrimRight(strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name)), "0123456789")
}

func isPersonal(name string) bool {
	w := word(name)
	return slices.ContainsFunc(personalNames, func(p string) bool { return strings.HasSuffix(w, p) })
}

// mark stands for a value: the same mark for the same value.
func (d *Document) mark(k kind, s string) string {
	number := func(of *map[string]int) string {
		n := (*of)[s]
		if n == 0 {
			if *of == nil {
				*of = map[string]int{}
			}
			n = len(*of) + 1
			(*of)[s] = n
		}
		return strconv.Itoa(n)
	}
	switch k {
	case aSecret:
		d.Redacted++
		return "[redacted-" + number(&d.secrets) + "]"
	case anEmail:
		d.Masked++
		return "person" + number(&d.people) + "@example.com"
	case aNumber:
	}
	d.Masked++
	return "[personal-" + number(&d.people) + "]"
}
