package pages

import (
	"html"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/notify"
)

// Unsubscribe is the page behind the link of a reminder. GET shows what the link is
// for; POST ends the reminders, from the button of the page or from the program that shows
// the mail (RFC 8058), which has no session and names no origin: the link is the proof.
func (p *Room) Unsubscribe(w http.ResponseWriter, r *http.Request) {
	link := strings.TrimPrefix(r.URL.Path, notify.UnsubscribePath)
	var of *notify.Subscription
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		of, err = p.Notify.SubscriptionOf(r.Context(), link)
	case http.MethodPost:
		of, err = p.Notify.Unsubscribe(r.Context(), link)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		p.Front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if err != nil {
		fault := front.ProblemOf(err)
		if fault.Code == front.CodeInternal {
			_ = p.Front.Fail(r.Context(), err) // logs it
		}
		p.page(w, fault.Status, "Not unsubscribed", "<p>"+html.EscapeString(fault.Detail+". "+fault.Remedy)+"</p>")
		return
	}
	who := "<b>" + html.EscapeString(of.Address) + "</b>"
	if of.Ended {
		p.page(w, http.StatusOK, "No reminders any more", "<p>"+who+" gets no reminders of channel "+html.EscapeString(of.Channel)+
			" any more. Alerts still come. An administrator can undo this.</p>")
		return
	}
	p.page(w, http.StatusOK, "End reminders", "<p>End the reminders that channel "+html.EscapeString(of.Channel)+" sends to "+who+
		"? Alerts still come.</p><form method=\"post\"><button type=\"submit\" name=\"List-Unsubscribe\" value=\"One-Click\">No reminders any more</button></form>")
}
