package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/safedial"
)

// openAlerts makes the rooms of alerts and notices.
func (s *Server) openAlerts() (err error) {
	d := s.o.Dialer
	if d == nil {
		if d, err = safedial.New(safedial.Options{}); err != nil {
			return err
		}
	}
	s.notify = notify.New(notify.Options{Store: s.o.Store, Keyring: s.o.Keyring, Dialer: d, Backoff: s.o.NotifyBackoff, PublicURL: s.o.PublicURL, Log: s.log, Attempted: s.metrics.Delivery})
	s.alerts = alert.New(alert.Room{Store: s.o.Store, Log: s.log, Space: s.o.Space, Told: s.notify.Wake})
	return nil
}

// ListAlertsInput asks for alerts.
type ListAlertsInput struct {
	ListInput

	State    []string `query:"state" enum:"pending,firing,acknowledged,snoozed,resolved" maxItems:"5" doc:"Only in these states."`
	Kind     string   `query:"kind" maxLength:"100" doc:"Only of this kind."`
	Severity string   `query:"severity" enum:"info,warning,critical" doc:"Only of this severity."`
	Toolset  string   `query:"toolset" maxLength:"128" doc:"Only of this toolset, by id or slug."`
	Open     bool     `query:"open" doc:"Only those that are not resolved."`
}

// AlertInput is the path of an alert.
type AlertInput struct {
	ID string `path:"id" maxLength:"64"`
}

type acknowledgeInput struct {
	AlertInput

	Body struct {
		Note string `json:"note,omitempty" maxLength:"1000" doc:"For those who look at the alert."`
	}
}

type snoozeInput struct {
	AlertInput

	Body struct {
		Seconds int64  `json:"seconds" minimum:"1" maximum:"2592000" doc:"For how long."`
		Note    string `json:"note,omitempty" maxLength:"1000" doc:"For those who look at the alert."`
	}
}

type testAlertInput struct {
	Body struct {
		Kind     string `json:"kind,omitempty" maxLength:"100" default:"upstream.auth_failed" doc:"Kind of the alert that is tried."`
		Severity string `json:"severity,omitempty" enum:"info,warning,critical" default:"critical"`
	}
}

func registerAlerts(s *Server) {
	tags := []string{"alerts"}
	register(s, huma.Operation{
		OperationID: "list-alerts", Method: http.MethodGet, Path: "/v1/alerts", Summary: "List alerts, newest first", Tags: tags,
	}, of(s, listAlerts))
	register(s, huma.Operation{
		OperationID: "get-alert", Method: http.MethodGet, Path: "/v1/alerts/{id}", Summary: "Read an alert", Tags: tags,
	}, func(ctx context.Context, in *AlertInput) (*bodyOutput[alert.Alert], error) {
		return alertAnswer(s.workspace(ctx).Alert(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "acknowledge-alert", Method: http.MethodPost, Path: "/v1/alerts/{id}/ack", Summary: "Acknowledge an alert", Tags: tags,
		Description: "Somebody works on it: it is not reported again until it is worse, or over.",
	}, func(ctx context.Context, in *acknowledgeInput) (*bodyOutput[alert.Alert], error) {
		return alertAnswer(s.alerts.Acknowledge(ctx, s.workspace(ctx), in.ID, in.Body.Note))
	})
	register(s, huma.Operation{
		OperationID: "snooze-alert", Method: http.MethodPost, Path: "/v1/alerts/{id}/snooze", Summary: "Snooze an alert", Tags: tags,
		Description: "It is reported again when the time is over and its cause is still there.",
	}, func(ctx context.Context, in *snoozeInput) (*bodyOutput[alert.Alert], error) {
		return alertAnswer(s.alerts.Snooze(ctx, s.workspace(ctx), in.ID, in.Body.Note, time.Duration(in.Body.Seconds)*time.Second))
	})
	register(s, huma.Operation{
		OperationID: "test-alert", Method: http.MethodPost, Path: "/v1/alerts/test", Summary: "Try who is notified of an alert", Tags: tags,
		DefaultStatus: http.StatusAccepted, Description: "Sends a notice that says that it is a test to the channels that get alerts of this kind and severity.",
	}, func(ctx context.Context, in *testAlertInput) (*struct{}, error) {
		return nil, s.alerts.Test(ctx, s.workspace(ctx), in.Body.Kind, in.Body.Severity)
	})
}

func alertAnswer(row *store.Alert, err error) (*bodyOutput[alert.Alert], error) {
	if err != nil {
		return nil, err
	}
	return answer(alert.Show(row))
}

func listAlerts(ctx context.Context, s *Server, in *ListAlertsInput) (*listOutput[alert.Alert], error) {
	ws := s.workspace(ctx)
	f := store.AlertFilter{States: in.State, Kind: in.Kind, Severity: in.Severity, Open: in.Open}
	var err error
	if f.Toolset, err = usage.ToolsetID(ctx, ws, in.Toolset); err != nil {
		return nil, err
	}
	return filtered(&in.ListInput, "/v1/alerts", func(p store.Page) ([]store.Alert, string, error) { return ws.Alerts(ctx, f, p) }, alert.Show)
}

// filtered answers a page of a list whose other parameters read knows.
func filtered[R, T any](in *ListInput, path string, read func(store.Page) ([]R, string, error), show func(*R) (T, error)) (*listOutput[T], error) {
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	rows, next, err := read(p)
	if err != nil {
		return nil, err
	}
	shown := make([]T, len(rows))
	for i := range rows {
		if shown[i], err = show(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list(in, path, shown, next, same), nil
}

// ChannelInput is the path of a channel.
type ChannelInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id or name."`
}

type createChannelInput struct{ Body notify.NewChannel }

type changeChannelInput struct {
	ChannelInput
	request.MatchInput

	Body notify.ChangeChannel
}

type deleteChannelInput struct {
	ChannelInput
	request.MatchInput
}

// ListDeliveriesInput asks for deliveries.
type ListDeliveriesInput struct {
	ListInput

	Channel string `query:"channel" maxLength:"64" doc:"Only to this channel, by id or name."`
	State   string `query:"state" enum:"pending,delivered,dead,digested" doc:"Only in this state."`
	Alert   string `query:"alert" maxLength:"64" doc:"Only of this alert."`
}

// DeliveryInput is the path of a delivery.
type DeliveryInput struct {
	ID string `path:"id" maxLength:"64"`
}

type channelOutput struct {
	ETag string `header:"ETag"`
	Body notify.Channel
}

func registerChannels(s *Server) {
	tags := []string{"alerts"}
	register(s, huma.Operation{
		OperationID: "list-channels", Method: http.MethodGet, Path: "/v1/channels", Summary: "List the channels that are notified of alerts", Tags: tags,
	}, paged(s, "/v1/channels", (*store.Workspace).Channels, notify.Show))
	register(s, huma.Operation{
		OperationID: "create-channel", Method: http.MethodPost, Path: "/v1/channels", Summary: "Add a channel", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "A webhook signs its messages as Standard Webhooks says; the secret is in this answer only.",
	}, func(ctx context.Context, in *createChannelInput) (*bodyOutput[notify.Channel], error) {
		c, err := s.notify.Create(ctx, s.workspace(ctx), &in.Body)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[notify.Channel]{*c}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-channel", Method: http.MethodGet, Path: "/v1/channels/{id}", Summary: "Read a channel", Tags: tags,
	}, func(ctx context.Context, in *ChannelInput) (*channelOutput, error) {
		return channelAnswer(s.workspace(ctx).Channel(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "patch-channel", Method: http.MethodPatch, Path: "/v1/channels/{id}", Summary: "Change what a channel gets, or switch it off and on", Tags: tags,
	}, func(ctx context.Context, in *changeChannelInput) (*channelOutput, error) {
		return channelAnswer(s.notify.Change(ctx, s.workspace(ctx), in.ID, &in.MatchInput, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "delete-channel", Method: http.MethodDelete, Path: "/v1/channels/{id}", Summary: "Remove a channel", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "What was to be delivered to it is dropped.",
	}, func(ctx context.Context, in *deleteChannelInput) (*struct{}, error) {
		return nil, s.notify.Remove(ctx, s.workspace(ctx), in.ID, &in.MatchInput)
	})
	register(s, huma.Operation{
		OperationID: "test-channel", Method: http.MethodPost, Path: "/v1/channels/{id}/test", Summary: "Send a test message to a channel", Tags: tags,
		DefaultStatus: http.StatusAccepted, Description: "Its outcome is in the list of deliveries.",
	}, func(ctx context.Context, in *ChannelInput) (*struct{}, error) {
		return nil, s.notify.Test(ctx, s.workspace(ctx), in.ID)
	})
	register(s, huma.Operation{
		OperationID: "rotate-channel-secret", Method: http.MethodPost, Path: "/v1/channels/{id}/rotate-secret", Summary: "Give a webhook a new signing secret", Tags: tags,
		Description: "It is in this answer only. For a day messages carry a signature with the secret before it, too.",
	}, func(ctx context.Context, in *ChannelInput) (*bodyOutput[notify.Channel], error) {
		c, err := s.notify.RotateSecret(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[notify.Channel]{*c}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: "/v1/deliveries", Summary: "List messages to channels, newest first", Tags: tags,
	}, of(s, listDeliveries))
	register(s, huma.Operation{
		OperationID: "get-delivery", Method: http.MethodGet, Path: "/v1/deliveries/{id}", Summary: "Read what became of a message", Tags: tags,
	}, func(ctx context.Context, in *DeliveryInput) (*bodyOutput[notify.Delivery], error) {
		return deliveryAnswer(s.workspace(ctx).Delivery(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "redeliver", Method: http.MethodPost, Path: "/v1/deliveries/{id}/redeliver", Summary: "Send a message again", Tags: tags, DefaultStatus: http.StatusAccepted,
		Description: "A dead one goes under its own id, one that was delivered under a new one, because receivers drop an id that they have seen.",
	}, func(ctx context.Context, in *DeliveryInput) (*bodyOutput[notify.Delivery], error) {
		return deliveryAnswer(s.notify.Redeliver(ctx, s.workspace(ctx), in.ID))
	})
}

func channelAnswer(row *store.Channel, err error) (*channelOutput, error) {
	if err != nil {
		return nil, err
	}
	c, err := notify.Show(row)
	return &channelOutput{request.ETag(row.Version), c}, err
}

func deliveryAnswer(row *store.Delivery, err error) (*bodyOutput[notify.Delivery], error) {
	if err != nil {
		return nil, err
	}
	return answer(notify.ShowDelivery(row))
}

func listDeliveries(ctx context.Context, s *Server, in *ListDeliveriesInput) (*listOutput[notify.Delivery], error) {
	ws := s.workspace(ctx)
	f := store.DeliveryFilter{State: in.State, Alert: in.Alert}
	if in.Channel != "" {
		c, err := ws.Channel(ctx, in.Channel)
		if err != nil {
			return nil, err
		}
		f.Channel = c.ID
	}
	return filtered(&in.ListInput, "/v1/deliveries", func(p store.Page) ([]store.Delivery, string, error) { return ws.Deliveries(ctx, f, p) }, notify.ShowDelivery)
}
