package terminal

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	columnGap = 2  // blanks between columns of a table
	leastCell = 12 // characters that stay of a cell: enough to tell rows apart
	tightCell = 6  // that stay where the table is still too wide: a broken line is worse
)

func headers[T any](columns []Column[T]) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Header
	}
	return names
}

// fit cuts cells until the rows are no wider than the terminal: always in the widest
// column. The first column, by which a row is named to the next command, and columns with
// URLs stay whole, so that what is copied works; a table may stay too wide for that.
func fit(rows [][]string, headers []string, width int) {
	widths, least := make([]int, len(headers)), make([]int, len(headers))
	total := -columnGap
	for i, h := range headers {
		widths[i] = text.StringWidth(h)
		least[i] = widths[i]
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidth(row[i]))
			if i == 0 || strings.Contains(row[i], "://") {
				least[i] = max(least[i], widths[i])
			}
		}
		total += widths[i] + columnGap
	}
	for _, cell := range []int{leastCell, tightCell} {
		for ; total > width; total-- {
			widest := -1
			for i, w := range widths {
				if w > max(least[i], cell) && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] = text.Snip(row[i], widths[i], "…")
		}
	}
}
