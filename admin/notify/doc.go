// Package notify notifies people and programs of events of a control plane. Whoever
// changes records adds a [Notice] in the same transaction ([Add]), which is the outbox. A
// [Room] gives the notices to the channels of their workspace and delivers them: webhooks
// (Standard Webhooks), Slack-compatible webhooks and e-mail.
//
// It does not decide what is wrong: package alert does.
//
// Every message reaches its channel at least once, under one id. A message whose success
// was recorded is not sent again under that id. Messages of one alert arrive in its order,
// and a channel that hangs delays no other. A [Room] may be used by many goroutines.
package notify
