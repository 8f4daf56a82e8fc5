//go:build !linux && !darwin

package linear

import "errors"

func reserve(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func release([]byte) {}
