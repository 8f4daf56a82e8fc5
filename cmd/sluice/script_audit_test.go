package main

import (
	"database/sql" //nolint:depguard // somebody who writes to the database beside the program
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver

	"github.com/sluicegate/sluice/cmd/internal/datadir"
)

// cutAudit removes the newest records of the audit log, as somebody would who can
// write to the database of a stopped node.
func (s *scripts) cutAudit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cutaudit DATA N")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(filepath.Join(args[0], datadir.Database)))
	ts.Check(err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec("DELETE FROM audit_records WHERE seq > (SELECT MAX(seq) FROM audit_records) - ?", args[1])
	ts.Check(err)
}
