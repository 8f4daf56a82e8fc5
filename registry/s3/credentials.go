package s3

import (
	"errors"
	"io/fs"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/sluicegate/sluice/internal/problem"
)

// credentials finds what signs requests: the access key of the environment, unless a
// file or profile is named, else the shared credentials file.
func (o *Options) credentials() *credentials.Credentials {
	if o.CredentialsFile == "" && o.Profile == "" {
		env := credentials.NewEnvAWS()
		if v, err := env.GetWithContext(nil); err == nil && !v.SignerType.IsAnonymous() {
			return env
		}
	}
	return credentials.New(&sharedFile{credentials.FileAWSCredentials{Filename: o.CredentialsFile, Profile: o.Profile}})
}

// sharedFile is a profile of the shared credentials file. It is read again for each
// request, so renewed keys are used at once.
type sharedFile struct{ credentials.FileAWSCredentials }

// Retrieve implements [credentials.Provider].
func (f *sharedFile) Retrieve() (credentials.Value, error) { return f.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext implements [credentials.Provider].
func (f *sharedFile) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	v, err := f.FileAWSCredentials.RetrieveWithCredContext(cc)
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return credentials.Value{}, problem.New(problem.InvalidArgument, "there are no credentials for the bucket: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor a file that can be read").
			Fix("set them, or name a file with credentials-file=FILE in the URL").Because(err)
	case err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "": // the error may quote a line of the file
		return credentials.Value{}, problem.New(problem.InvalidArgument, "the credentials file has no access key for the profile %.80q", f.Profile).At(f.Filename, 0, 0, "").
			Fix("add aws_access_key_id and aws_secret_access_key to it, or name another with profile=NAME in the URL")
	}
	return v, nil
}
