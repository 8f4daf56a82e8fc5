module github.com/sluicegate/sluice/sdk/go

go 1.24
