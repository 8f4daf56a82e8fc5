package alert

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

const (
	// lowSpace is where a disk is nearly full, as sluice doctor has it: a collection, a
	// migration and a few days of usage need room. At an eighth of it the node stops soon.
	lowSpace = 1 << 30
	// backupAge is how old the newest backup may be, where any was made.
	backupAge = 7 * 24 * time.Hour
	// backupEvery is how often the audit log is asked for it: that takes long when it is long.
	backupEvery = time.Hour
	// backupAction is what the audit log calls a backup.
	backupAction = "backup"
)

// disk is the disk of the records. The operator is told, in the first workspace.
func (r *Room) disk(_ context.Context, ws *store.Workspace) ([]condition, error) {
	if r.Space == nil || ws.ID() != request.Operator {
		return nil, nil
	}
	free, known := r.Space()
	if !known || free >= lowSpace {
		return nil, nil
	}
	c := condition{
		key: KindDiskLow, kind: KindDiskLow, severity: notify.Warning, linger: time.Minute, title: "the disk of the control plane is nearly full",
		details: Details{
			Cause: fmt.Sprintf("%d MB are free", free>>20), Remedy: "make room: without it nothing can be published, and usage is lost", Command: "sluice gc",
		},
	}
	if free < lowSpace/8 {
		c.severity = notify.Critical
	}
	return []condition{c}, nil
}

// backupSeen is the newest backup, as the audit log had it a while ago.
type backupSeen struct{ looked, last time.Time }

// backups are how old the newest backup is. Who never made one has another way.
func (r *Room) backups(ctx context.Context, ws *store.Workspace) ([]condition, error) {
	if ws.ID() != request.Operator {
		return nil, nil
	}
	now := ws.Now()
	old := func() bool { return !r.backup.last.IsZero() && now.Sub(r.backup.last) > backupAge }
	if r.backup.looked.IsZero() || now.Sub(r.backup.looked) >= backupEvery || old() {
		last, err := ws.LastAction(ctx, backupAction)
		if err != nil {
			return nil, err
		}
		r.backup = backupSeen{now, last}
	}
	if !old() {
		return nil, nil
	}
	return []condition{{
		key: KindBackupOld, kind: KindBackupOld, severity: notify.Warning, title: "the newest backup of the control plane is old",
		details: Details{
			Cause: "it was begun on " + r.backup.last.UTC().Format(time.DateOnly) + ", more than " + fmt.Sprint(int(backupAge.Hours()/24)) + " days ago", LastAt: r.backup.last,
			Remedy: "make one, and see why the job that makes them does not run", Command: "sluice backup FILE",
		},
	}}, nil
}
