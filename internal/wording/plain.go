package wording

import (
	"slices"
	"strings"
)

// plainly are the things that APIs speak of, with what people call them who have never
// read the API; the first words are the commonest. Things whose own word everybody uses
// are not here. They are for the index of a search and for nobody's eyes: in a
// description they would promise what the tool does not do.
var plainly = parsePlain(`
account: profile, sign-up
alert: warning, alarm
annotation: note
approval: sign-off
artifact: build output
assignee: person in charge, owner
attachment: file
audit log: who did what, history
authorization: permission, hold
autoscaler: grow and shrink with load
availability: free time, opening hours
balance: money in the account, funds
balance transaction: money in and out
bank account: bank details
board: wall, overview
branch: line of development
branch protection: who may push
bug: defect, problem
build: pipeline run, CI
calendar: agenda, diary
campaign: newsletter, mailing
card: credit card, debit card
cart: basket
certificate: TLS, identity proof
channel: room, chat, place to talk
charge: payment, money taken
checkout session: payment page, pay now
code: source, program text
collaborator: person with access, contributor
comment: remark, reply, note
commit: change, history
config map: settings
configuration: settings
connection: link
contact: person, address book
content: file text
conversation: channel, room, chat
conversion: purchase
coupon: discount, voucher
credit note: correction of a bill, money back
cron job: schedule, every night, recurring task
customer: client, buyer, shopper
daemon set: on every machine
dashboard: charts, overview
deployment: app, rollout, release
dispute: chargeback, contested payment, complaint
distribution: delivery
domain: web address, site name
draft: unfinished, not sent
email: mail, message
endpoint: address
environment: stage, staging, production
event: what happened, activity
feature flag: switch, toggle
file: document, upload, PDF
filter: rule
folder: directory
follower: who watches
fork: own copy
gist: snippet, piece of code
group: team, people
history: past messages, what was said
hook: notify a URL
horizontal pod autoscaler: scale by itself, grow and shrink with load
incident: outage, emergency, something is broken
ingress: route a host name, website address
integration: connected app
invitation: ask to join
invoice: bill
issue: bug, ticket, problem, task
item: entry
job: task, run once
key: password, token
label: tag
lead: prospect, sales contact
license: terms of use
line item: position, row of a bill
list: collection
location: place, address
lock: freeze
log: what was printed, output
login: sign in
member: person, colleague, who belongs
membership: belongs to, part of a team
merge request: proposed change
message: post, text, chat
milestone: target date
namespace: area of a team, project space
network policy: who may talk to whom, block traffic
node: machine, server
notification: notice, inform
order: purchase
organization: company
page: document
payment: money paid
payment intent: payment, charge, take money
payment link: link to pay
payment method: card, way to pay
payout: transfer to the bank, earnings
permission: access right, who may
persistent volume: disk, storage
persistent volume claim: disk space, storage request
pin: keep at the top
plan: price, recurring fee
playlist: songs
pod: running container, what is running
pod log: what was printed, output
policy: rule
portal session: manage own cards and invoices
presence: online, away
price: cost, fee
product: goods, article, what is sold
profile: about me, status text
promotion code: discount code, voucher
pull request: PR, proposed change, merge
quote: offer, estimate
reaction: emoji, thumbs up, like
record: entry
recipient: who gets it
refund: money back
release: version, publish
reminder: remind me, do not forget
repo: project, code
repository: project, code
requested reviewer: ask to look over changes
resource quota: limit, use at most
review: feedback, opinion
reviewer: who looks over changes
role: rights
role binding: allow, grant access, permission
cluster role binding: allow, grant access, permission
rule: condition
ruleset: rules, who may push
run: execution, pipeline
runner: build machine
scale: number of copies, replicas
schedule: plan, on duty
scheduled message: send later
search: look for
secret: password, credential, token
secret scanning alert: leaked password or token
service: stable address, application
service account: identity of a program, robot user
session: visit
setting: preference, option
shipment: delivery, parcel
snapshot: backup, copy
snooze: do not disturb, quiet
source: card, way to pay
space: area
stargazer: who likes it
starred: favourite, bookmark
stateful set: database, app with storage
status: state, how it is going
subscriber: reader, who gets it
subscription: recurring payment, plan, monthly
sprint: iteration
survey: questionnaire
tag: label
task: to-do, work
tax calculation: VAT, sales tax due
tax rate: VAT
team: group of people
template: pattern
thread: replies, answers
ticket: support request, problem
token: key, credential
topic: header, subject
transaction: payment, money movement
transfer: send money
user: person, colleague, who
user group: handle, mention many
usergroup: handle, mention many
volume: disk
vulnerability: security hole
dependabot alert: security hole in a library
watcher: who follows
webhook: notify a URL
webhook endpoint: notify a URL
workflow: pipeline, automation
workflow run: CI run, build, pipeline
worklog: time spent
workspace: team, company
worktime: hours
zone: DNS, domain
`)

// deeds are actions with what people say instead.
var deeds = parsePlain(`
archive: put away, no longer used
assign: put in charge
cancel: end, stop
capture: collect the money on hold
close: finish, done
create: new, set up, open
delete: get rid of, take down, erase
dispatch: start by hand
disable: turn off
enable: turn on
finalize: make final
invite: bring in, ask to join
join: put me into
kick: throw out
leave: get out
lock: freeze
lookup: who is behind
merge: go ahead, accept the change
mute: silence
pause: hold
pin: keep at the top
publish: make public
remove: take out, throw out
rename: new name, call it
replace: change, overwrite
rerun: try again, kick off again
restore: bring back
resume: go on
revoke: take back
schedule: later, tomorrow at
search: look for, find
send: mail, tell
star: bookmark, favourite
update: change, correct, edit
upload: share, put online
upsert: set, save, store
void: mistake, no longer valid
`)

// fillers are words that say nothing alone.
var fillers = strings.Fields("a an the of for to in on by and or is as at with from it all one")

// parsePlain reads lines of a word or words, a colon and a list.
func parsePlain(s string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(s) {
		if what, list, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			m[what] = strings.Split(list, ", ")
		}
	}
	return m
}

// Plain are what people call what a tool does and does it with, at most n, without those
// that the text has. name is the tool's name in words, the verb first.
func Plain(name []string, text string, n int) []string {
	if len(name) < 2 {
		return nil
	}
	known := map[string]bool{}
	for _, w := range Split(text) {
		known[Singular(w)] = true
	}
	var out []string
	add := func(list []string, most int) {
		for _, phrase := range list {
			news := slices.ContainsFunc(Split(phrase), func(w string) bool { return !known[Singular(w)] && !slices.Contains(fillers, w) })
			if news && most > 0 && len(out) < n && !slices.Contains(out, phrase) {
				out, most = append(out, phrase), most-1
			}
		}
	}
	object := slices.Clone(name[1:])
	object[len(object)-1] = Singular(object[len(object)-1])
	for from := range object { // the longest thing that is known, at the end of the name
		if list, ok := plainly[strings.Join(object[from:], " ")]; ok {
			add(list, 3)
			break
		}
	}
	if out != nil { // verbs alone are known to everybody
		add(deeds[name[0]], 2)
	}
	return out
}
