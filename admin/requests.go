package admin

// DeployRequest deploys the draft as it is.
type DeployRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Needed when this digest has no passed test; recorded in the audit log."`
}
