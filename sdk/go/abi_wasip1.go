//go:build wasip1

package sluice

import "encoding/binary"

// The functions of the Extism ABI that this package uses. An offset names a block in
// the exchange memory, which a plugin reaches through these functions only.

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env free
func free(offset uint64)

//go:wasmimport extism:host/env length
func length(offset uint64) uint64

//go:wasmimport extism:host/env load_u8
func load8(offset uint64) uint32

//go:wasmimport extism:host/env load_u64
func load64(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, v uint32)

//go:wasmimport extism:host/env store_u64
func store64(offset, v uint64)

//go:wasmimport extism:host/env output_set
func outputSet(offset, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(offset uint64)

//go:wasmimport extism:host/env config_get
func configGet(name uint64) uint64

//go:wasmimport extism:host/env log_trace
func logTrace(offset uint64)

//go:wasmimport extism:host/env log_debug
func logDebug(offset uint64)

//go:wasmimport extism:host/env log_info
func logInfo(offset uint64)

//go:wasmimport extism:host/env log_warn
func logWarn(offset uint64)

//go:wasmimport extism:host/env log_error
func logError(offset uint64)

//go:wasmimport extism:host/user sluice_derive
func hostDerive(key, prefix, message uint64) uint64

//go:wasmimport extism:host/user sluice_sign
func hostSign(key, message uint64) uint64

//go:wasmimport extism:host/user sluice_token
func hostToken(name uint64) uint64

//go:wasmimport extism:host/user sluice_token_fetch
func hostTokenFetch(name, request uint64) uint64

//go:wasmimport extism:host/user sluice_call
func hostCall(lines uint64) uint64

//go:wasmexport transform_response
func transformResponse() int32 { return answer(run()) }

//go:wasmexport transform_request
func transformRequest() int32 { return answer(runRequest()) }

//go:wasmexport run_workflow
func runWorkflowEntry() int32 { return answer(runWorkflow()) }

func callTools(lines []byte) []byte {
	at := hostCall(store(lines))
	defer free(at)
	return load(at)
}

func answer(err error) int32 {
	if err == nil {
		return 0
	}
	text := err.Error()
	if text == "" {
		text = "unknown error"
	}
	errorSet(store([]byte(text)))
	return 1
}

func derive(k Key, prefix, message string) Key {
	p, m := store([]byte(prefix)), store([]byte(message))
	return Key(hostDerive(uint64(k), p, m))
}

func sign(k Key, message string) []byte {
	at := hostSign(uint64(k), store([]byte(message)))
	defer free(at)
	return load(at)
}

func token(name string) Key { return Key(hostToken(store([]byte(name)))) }

func fetchToken(name string, request []byte) Key {
	n, r := store([]byte(name)), store(request)
	return Key(hostTokenFetch(n, r))
}

func input() []byte {
	n := inputLength()
	b := make([]byte, n)
	i := uint64(0)
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], inputLoad64(i))
	}
	for ; i < n; i++ {
		b[i] = byte(inputLoad8(i))
	}
	return b
}

func output(b []byte) {
	if len(b) > 0 {
		outputSet(store(b), uint64(len(b)))
	}
}

func store(b []byte) uint64 {
	n := uint64(len(b))
	if n == 0 {
		return 0
	}
	at := alloc(n)
	if at == 0 {
		panic("sluice: the exchange memory is exhausted")
	}
	i := uint64(0)
	for ; i+8 <= n; i += 8 {
		store64(at+i, binary.LittleEndian.Uint64(b[i:]))
	}
	for ; i < n; i++ {
		store8(at+i, uint32(b[i]))
	}
	return at
}

func load(at uint64) []byte {
	if at == 0 {
		return nil
	}
	n := length(at)
	b := make([]byte, n)
	i := uint64(0)
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], load64(at+i))
	}
	for ; i < n; i++ {
		b[i] = byte(load8(at + i))
	}
	return b
}

func config(name string) []byte {
	key := store([]byte(name))
	at := configGet(key)
	free(key)
	b := load(at)
	if at != 0 {
		free(at)
	}
	return b
}

func logLine(l Level, line string) {
	if line == "" {
		return
	}
	at := store([]byte(line))
	switch l {
	case Trace:
		logTrace(at)
	case Debug:
		logDebug(at)
	case Warn:
		logWarn(at)
	case Error:
		logError(at)
	default:
		logInfo(at)
	}
}
