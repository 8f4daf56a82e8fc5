// Package command is what the commands of the program share: the session they run in
// (terminal, environment, configuration, global flags and the client of the admin API),
// the checks of their arguments, and the commands that every kind of record has (list,
// create, remove).
package command
