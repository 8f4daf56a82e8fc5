package admin

import (
	"html"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/notify"
)

// serveUnsubscribe is the page behind the link of a reminder. GET shows what the link is
// for; POST ends the reminders, from the button of the page or from the program that shows
// the mail (RFC 8058), which has no session and names no origin: the link is the proof.
func (s *Server) serveUnsubscribe(w http.ResponseWriter, r *http.Request) {
	link := strings.TrimPrefix(r.URL.Path, notify.UnsubscribePath)
	var of *notify.Subscription
	var err error
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		of, err = s.notify.SubscriptionOf(r.Context(), link)
	case http.MethodPost:
		of, err = s.notify.Unsubscribe(r.Context(), link)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if err != nil {
		p := front.ProblemOf(err)
		if p.Code == front.CodeInternal {
			_ = s.front.Fail(r.Context(), err) // logs it
		}
		s.page(w, p.Status, "Not unsubscribed", "<p>"+html.EscapeString(p.Detail+". "+p.Remedy)+"</p>")
		return
	}
	who := "<b>" + html.EscapeString(of.Address) + "</b>"
	if of.Ended {
		s.page(w, http.StatusOK, "No reminders any more", "<p>"+who+" gets no reminders of channel "+html.EscapeString(of.Channel)+
			" any more. Alerts still come. An administrator can undo this.</p>")
		return
	}
	s.page(w, http.StatusOK, "End reminders", "<p>End the reminders that channel "+html.EscapeString(of.Channel)+" sends to "+who+
		"? Alerts still come.</p><form method=\"post\"><button type=\"submit\" name=\"List-Unsubscribe\" value=\"One-Click\">No reminders any more</button></form>")
}
