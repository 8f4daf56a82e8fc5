package call

import "context"

// Files gets files that agents name by URL instead of sending them. It is safe for
// concurrent use.
type Files interface {
	// FetchFile returns a file, its media type and a name; the last two may be
	// empty. It must reach public addresses only and bound the size. The text of its
	// error is shown to the agent.
	FetchFile(ctx context.Context, url string) (data []byte, mediaType, filename string, err error)
}

// callFiles are the files of one call: they are fetched within its deadline.
type callFiles struct{ *input }

// Fetch implements [operation.Files].
func (f *callFiles) Fetch(url string) (data []byte, mediaType, filename string, err error) {
	ctx, cancel := context.WithDeadline(f.ctx, f.deadline)
	defer cancel()
	return f.c.files.FetchFile(ctx, url)
}
