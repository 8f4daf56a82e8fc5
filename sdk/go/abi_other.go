//go:build !wasip1

package sluice

// call is the call that Run stands in for.
var call Call

// Call is what a plugin is given in a test.
type Call struct {
	Body   string
	Config map[string]string // settings, and "sluice.tool", "sluice.arguments" …
	Log    func(Level, string)
}

var result []byte

// Run runs the plugin of this package on a call, as a gateway does.
func Run(c Call) ([]byte, error) {
	call, result = c, nil
	err := run()
	return result, err
}

func input() []byte { return []byte(call.Body) }

func output(b []byte) { result = append([]byte(nil), b...) }

func config(name string) []byte { return []byte(call.Config[name]) }

func logLine(l Level, line string) {
	if call.Log != nil {
		call.Log(l, line)
	}
}
