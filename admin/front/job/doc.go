// Package job runs work that may outlast its request: the request is answered with the
// result, or with a job that continues. What the work is, and how an error becomes a
// problem ([front]), is not here.
package job
