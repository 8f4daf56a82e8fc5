// Package job does work that may outlast its request: the request is answered with the
// result, or with a job that goes on. What the work is, and how an error becomes a problem
// ([front]), is not here.
package job
