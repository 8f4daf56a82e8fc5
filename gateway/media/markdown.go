package media

import (
	"bytes"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// maxMarkdown is the largest page that is turned into Markdown: its tree takes
// some twenty times as much. Of a larger one the text alone is taken.
const maxMarkdown = 2 << 20

// markdown is safe for concurrent use.
var markdown = converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))

// AppendMarkdown appends a web page as Markdown (CommonMark with tables): no
// scripts, styles or markup. What cannot be converted is given as plain text.
func AppendMarkdown(dst, page []byte) []byte {
	if len(page) <= maxMarkdown {
		if md, err := markdown.ConvertReader(bytes.NewReader(page)); err == nil && len(md) > 0 {
			return append(dst, bytes.TrimSpace(md)...)
		}
	}
	return AppendHTMLText(dst, page)
}
